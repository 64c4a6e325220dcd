// Events of the fake driver. Time is work: a microsecond for each instruction that the interpreter executed for a warp,
// times noise, which FAKE_CUDA_NOISE gives as its standard deviation, relative to the time. From the
// FAKE_CUDA_FAULT-th wait for an event on an address was illegal.
#include <cmath>
#include <cstdlib>
#include <random>

#include "driver.h"

namespace fake_cuda {
namespace {

constexpr double kMillisecondsPerInstruction = 1e-3;
constexpr Result kIllegalAddress = 700;
constexpr int kVersion = 12040;

struct Event {
    std::uint64_t executed;
};

double number(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? std::atof(value) : 0;
}

std::uint64_t executed() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().interpreter == nullptr) return 0;
    state().interpreter->only_count();
    return state().interpreter->executed();
}

// Where tensors lie decides it: as on a device, it differs from process to process.
double noise() {
    static std::mt19937 random([] {
        const std::lock_guard<std::mutex> lock(state().mutex);
        std::uint32_t seed = 1;
        for (const auto &[address, bytes] : state().allocations)
            seed = seed * 31 +
                   static_cast<std::uint32_t>((address - reinterpret_cast<std::uint64_t>(state().memory)) / kAlignment);
        return seed;
    }());
    return std::exp(number("FAKE_CUDA_NOISE") * std::normal_distribution<double>()(random));
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuDriverGetVersion(int *version) {
    *version = kVersion;
    return enter("cuDriverGetVersion");
}

Result cuEventCreate(Event **event, unsigned) {
    const Result result = enter_context({"cuEventCreate", nullptr});
    if (result == kSuccess) *event = new Event{0};
    return result;
}

Result cuEventDestroy_v2(Event *event) {
    delete event;
    return enter_context({"cuEventDestroy", nullptr});
}

Result cuEventRecord(Event *event, void *stream) {
    const Result result = enter_context({"cuEventRecord", nullptr, stream});
    if (result == kSuccess) event->executed = executed();
    return result;
}

Result cuEventSynchronize(Event *) {
    static int waits = 0;
    const double fault = number("FAKE_CUDA_FAULT");
    const Result result = enter_context({"cuEventSynchronize", nullptr});
    return fault > 0 && ++waits >= fault ? kIllegalAddress : result;
}

Result cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
    const double work = static_cast<double>(end->executed - begin->executed);
    *milliseconds = static_cast<float>(work * kMillisecondsPerInstruction * noise());
    return enter_context({"cuEventElapsedTime", nullptr});
}

}  // extern "C"
