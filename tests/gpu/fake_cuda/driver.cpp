// The fake driver's log of calls, the failures that tests ask for, and what belongs to no context.
#include "driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace fake_cuda {

State::State() : file(memfd_create("fake_cuda", 0)) {
    if (ftruncate(file, kMemory) != 0) std::abort();
    memory = static_cast<char *>(mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (memory == MAP_FAILED) std::abort();
    if (const char *command = std::getenv("FAKE_CUDA_INTERPRETER")) {
        interpreter = std::make_unique<InterpreterProcess>(command, file);
    }
}

// Never destroyed: Halide's runtime calls the driver when the process ends.
State &state() {
    static State *state = new State;
    return *state;
}

Result enter(Call call) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    call.context = current_context();
    s.calls.push_back(std::move(call));
    Call &written = s.calls.back();
    const bool may_fail = s.calls_to_failure >= 0 && written.function != s.never_fails;
    written.failed = may_fail && s.calls_to_failure-- == 0;
    return written.failed ? s.failure : kSuccess;
}

Result enter(const char *function) { return enter({function, nullptr}); }

Result enter_context(Call call) {
    const Result result = enter(std::move(call));
    return result != kSuccess || current_context() != nullptr ? result : kInvalidContext;
}

std::vector<Call> calls() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().calls;
}

void reset() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().calls.clear();
    state().calls_to_failure = -1;
}

void fail_after(int skipped, int error, const std::string &but) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().calls_to_failure = skipped;
    state().failure = error;
    state().never_fails = but;
}

bool failure_pending() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().calls_to_failure >= 0;
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuInit(unsigned) { return enter("cuInit"); }

Result cuDeviceGetCount(int *count) {
    *count = 1;
    return enter("cuDeviceGetCount");
}

Result cuDeviceGet(int *device, int) {
    *device = 0;
    return enter("cuDeviceGet");
}

Result cuDeviceGetAttribute(int *value, int, int) {
    *value = 8;
    return enter("cuDeviceGetAttribute");
}

Result cuDeviceGetName(char *name, int length, int) {
    std::strncpy(name, "fake", static_cast<std::size_t>(length));
    return enter("cuDeviceGetName");
}

Result cuDeviceTotalMem_v2(std::size_t *bytes, int) {
    *bytes = kMemory;
    return enter("cuDeviceTotalMem");
}

Result cuProfilerStop() { return enter("cuProfilerStop"); }
Result cuGetErrorName(Result result, const char **name) {
    static const std::map<Result, const char *> names = {{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                         {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                         {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                         {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                         {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
    const auto found = names.find(result);
    if (found == names.end()) return kInvalidValue;
    *name = found->second;
    return kSuccess;
}

}  // extern "C"
