#include "find_device.h"

#include "gpu_candidate.h"
#include "support/text.h"

#include <exception>

namespace flashwright {
namespace {

constexpr ChildLimits kLimits = {60, 0};  // a driver may take seconds to start

enum Fact { kName, kCapability, kDriver, kMultiprocessors, kClock, kNoDriver, kRefused };

Record record(Fact fact, const std::string &text, int value = 0) {
    Record result;
    result.kind = fact;
    result.value = value;
    cut_text(text, sizeof result.text - 1).copy(result.text, sizeof result.text - 1);
    return result;
}

void look(const RecordSender &parent) {
    try {
        const CudaDevice device = CudaSession().device();
        parent.send(record(kName, device.name));
        parent.send(record(kCapability, device.compute_capability));
        parent.send(record(kDriver, device.driver));
        parent.send(record(kMultiprocessors, "", device.multiprocessors));
        parent.send(record(kClock, "", device.clock_mhz));
    } catch (const NoCudaDriver &error) {
        parent.send(record(kNoDriver, error.what()));
    } catch (const std::exception &error) {
        parent.send(record(kRefused, error.what()));
    }
}

void take(const Record &heard, CudaDevice &device, DeviceSearch &search) {
    const int value = static_cast<int>(heard.value);
    switch (heard.kind) {
        case kName:
            device.name = heard.text;
            break;
        case kCapability:
            device.compute_capability = heard.text;
            break;
        case kDriver:
            device.driver = heard.text;
            break;
        case kMultiprocessors:
            device.multiprocessors = value;
            break;
        case kClock:
            device.clock_mhz = value;
            break;
        default:
            search.reason = heard.text;
            search.failed = heard.kind == kRefused;
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
        kLimits, look, [&](const Record &heard) { take(heard, device, search); }, stop_requested);
    if (outcome.end != ChildEnd::finished) {
        search.reason = "asking the driver: " + outcome.detail;
        search.failed = outcome.end != ChildEnd::interrupted;
    }
    if (search.reason.empty()) search.device = device;
    return search;
}

}  // namespace flashwright
