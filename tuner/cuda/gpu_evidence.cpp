#include "gpu_evidence.h"

#include "support/text.h"

namespace flashwright {
namespace {

using nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json device_json(const CudaDevice &device) {
    return {{"name", device.name},
            {"compute_capability", device.compute_capability},
            {"driver", device.driver},
            {"multiprocessors", device.multiprocessors},
            {"clock_mhz", device.clock_mhz}};
}

nlohmann::ordered_json gpu_evidence(const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome) {
    ordered_json evidence = {{"basis", kernel.measured ? kMeasured : kPredicted},
                             {"verdict", kernel.replaces() ? "win" : "tie"}};
    if (!kernel.measured) {
        evidence["model"] = kGpuModel;
        evidence["architectures"] = outcome.architectures;
        evidence["ratio"] = shortened(kernel.ratio);
        return evidence;
    }
    const GpuMeasurement &measured = *kernel.measured;
    const PairedVerdict &best = measured.candidates[measured.best].verdict;
    ordered_json shapes = ordered_json::array();
    for (const ShapeSpec &shape : measured.shapes) shapes.push_back(to_string(shape));
    evidence["device"] = device_json(*outcome.device);
    evidence["shapes"] = shapes;
    evidence["ratio"] = shortened(best.ratio);
    evidence["interval"] = {shortened(best.interval.low), shortened(best.interval.high)};
    evidence["pairs"] = best.pairs;
    evidence["noise_floor"] = shortened(measured.noise_floor);
    return evidence;
}

}  // namespace flashwright
