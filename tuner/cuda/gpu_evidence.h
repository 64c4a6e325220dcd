// What a configuration says about how the tiles of a kernel were found.
#pragma once

#include "gpu_tuning.h"

#include <nlohmann/json.hpp>

namespace flashwright {

// The bases of a result.
constexpr const char *kMeasured = "measured", *kPredicted = "predicted";

nlohmann::ordered_json device_json(const CudaDevice &device);

nlohmann::ordered_json gpu_evidence(const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome);

}  // namespace flashwright
