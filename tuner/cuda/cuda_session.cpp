#include "cuda_session.h"

#include "gpu_candidate.h"
#include "support/text.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr int kSuccess = 0;  // CUresult
// CUdevice_attribute
constexpr int kClockRate = 13, kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;

}  // namespace

CudaSession::CudaSession() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw NoCudaDriver(fmt::format("no CUDA driver: {}", dlerror()));
    drive("cuInit", 0U);
    drive("cuDeviceGet", &device_, 0);
    drive("cuCtxCreate_v2", &context_, 0U, device_);
    drive("cuStreamCreate", &stream_, 0U);
    drive("cuEventCreate", &begin_, 0U);
    drive("cuEventCreate", &end_, 0U);
}

CudaDevice CudaSession::device() const {
    char name[128] = "";
    int version = 0;
    drive("cuDeviceGetName", static_cast<char *>(name), static_cast<int>(sizeof name) - 1, device_);
    drive("cuDriverGetVersion", &version);
    CudaDevice device;
    device.name = name;
    device.compute_capability = fmt::format("{}.{}", attribute(kCapabilityMajor), attribute(kCapabilityMinor));
    device.driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    device.multiprocessors = attribute(kMultiprocessors);
    device.clock_mhz = attribute(kClockRate) / 1000;
    return device;
}

std::uint64_t CudaSession::allocate(std::size_t bytes) const {
    std::uint64_t address = 0;
    drive("cuMemAlloc_v2", &address, bytes);
    return address;
}

void CudaSession::send(std::uint64_t to, const void *from, std::size_t bytes) const {
    drive("cuMemcpyHtoD_v2", to, from, bytes);
    wait();
}

void CudaSession::fetch(void *to, std::uint64_t from, std::size_t bytes) const {
    wait();
    drive("cuMemcpyDtoH_v2", to, from, bytes);
}

double CudaSession::time_of(const std::function<void()> &work) const {
    float milliseconds = 0;
    drive("cuEventRecord", begin_, stream_);
    work();
    drive("cuEventRecord", end_, stream_);
    drive("cuEventSynchronize", end_);
    drive("cuEventElapsedTime", &milliseconds, begin_, end_);
    return 1e-3 * static_cast<double>(milliseconds);
}

// Parameters are as the driver declares them.
template <typename... Parameters>
void CudaSession::drive(const char *name, Parameters... parameters) const {
    const int result = reinterpret_cast<int (*)(Parameters...)>(function(name))(parameters...);
    if (result == kSuccess) return;
    const char *error = nullptr;
    const auto error_name = reinterpret_cast<int (*)(int, const char **)>(function("cuGetErrorName"));
    if (error_name(result, &error) != kSuccess) error = "unknown error";
    throw std::runtime_error(fmt::format("{}: {} ({})", name, error, result));
}

void CudaSession::wait() const { drive("cuCtxSynchronize"); }

void *CudaSession::function(const char *name) const {
    void *found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(fmt::format("the CUDA driver has no {}", name));
    return found;
}

int CudaSession::attribute(int which) const {
    int value = 0;
    drive("cuDeviceGetAttribute", &value, which, device_);
    return value;
}

namespace {

constexpr ChildLimits kSearchLimits = {60, 0};  // a driver may take seconds to start

enum class Fact { name, capability, driver, multiprocessors, clock, no_driver, refused };

Record record(Fact fact, const std::string &text, int value = 0) {
    Record result;
    result.kind = static_cast<std::int32_t>(fact);
    result.value = value;
    cut_text(text, sizeof result.text - 1).copy(result.text, sizeof result.text - 1);
    return result;
}

void send_device(const RecordSender &parent) {
    try {
        const CudaDevice device = CudaSession().device();
        parent.send(record(Fact::name, device.name));
        parent.send(record(Fact::capability, device.compute_capability));
        parent.send(record(Fact::driver, device.driver));
        parent.send(record(Fact::multiprocessors, "", device.multiprocessors));
        parent.send(record(Fact::clock, "", device.clock_mhz));
    } catch (const NoCudaDriver &error) {
        parent.send(record(Fact::no_driver, error.what()));
    } catch (const std::exception &error) {
        parent.send(record(Fact::refused, error.what()));
    }
}

void take_fact(const Record &heard, CudaDevice &device, DeviceSearch &search) {
    const int value = static_cast<int>(heard.value);
    switch (static_cast<Fact>(heard.kind)) {
        case Fact::name:
            device.name = heard.text;
            break;
        case Fact::capability:
            device.compute_capability = heard.text;
            break;
        case Fact::driver:
            device.driver = heard.text;
            break;
        case Fact::multiprocessors:
            device.multiprocessors = value;
            break;
        case Fact::clock:
            device.clock_mhz = value;
            break;
        default:
            search.reason = heard.text;
            search.failed = static_cast<Fact>(heard.kind) == Fact::refused;
    }
}

}  // namespace

DeviceSearch find_cuda_device(const StopRequested &stop_requested) {
    DeviceSearch search;
    if (!calls_gpu_candidates()) {
        search.reason = "this build has no CUDA backend";
        return search;
    }
    CudaDevice device;
    const ChildOutcome outcome = run_in_child(
        kSearchLimits, send_device, [&](const Record &heard) { take_fact(heard, device, search); }, stop_requested);
    if (outcome.end != ChildEnd::finished) {
        search.reason = "asking the driver: " + outcome.detail;
        search.failed = outcome.end != ChildEnd::interrupted;
    }
    if (search.reason.empty()) search.device = device;
    return search;
}

}  // namespace flashwright
