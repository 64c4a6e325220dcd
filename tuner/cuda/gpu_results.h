// The results of tuning GPU kernels, in the T4 format.
#pragma once

#include "gpu_tuning.h"

#include <nlohmann/json.hpp>

namespace flashwright {

// One predicted result for each kernel, configuration and architecture, one measured for each on the shortlist and
// shape; one for each candidate that failed.
nlohmann::ordered_json gpu_t4_results(const GpuTuneOutcome &outcome, const GpuGenerator &generator);

// What is predicted of a candidate for an architecture, as measurements with names and units.
nlohmann::ordered_json gpu_measurements(const GpuPrediction &prediction);

}  // namespace flashwright
