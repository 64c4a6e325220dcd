// The records of tuning GPU kernels: the results file, and the evidence in a configuration.
#pragma once

#include "gpu_tuning.h"
#include "tuner/records/results.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace flashwright {

// The bases of a result.
constexpr const char *kMeasured = "measured", *kPredicted = "predicted";

// How the tiles of a kernel were chosen, as a configuration says it.
struct GpuEvidence {
    std::string basis;
    bool win = false;
    double ratio = 1;
    // Predicted.
    std::vector<std::string> architectures;
    // Measured.
    std::optional<CudaDevice> device;
    std::vector<std::string> shapes;
    Interval interval = {1, 1};
    int pairs = 0;
    double noise_floor = 0;
};

void to_json(nlohmann::ordered_json &json, const CudaDevice &device);
void to_json(nlohmann::ordered_json &json, const GpuEvidence &evidence);
void to_json(nlohmann::ordered_json &json, const GpuPrediction &prediction);

GpuEvidence evidence_of(const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome);

// A predicted result for each kernel, configuration and architecture, a measured one for each configuration on the
// shortlist and shape, and one for each candidate that failed.
TuningResults gpu_results(const GpuTuneOutcome &outcome, const GpuGenerator &generator);

}  // namespace flashwright
