// Tuning the forward kernels of the CUDA backend. Candidates are ranked by static analysis of their code; with a device
// the best are timed.
#pragma once

#include "cuda_session.h"
#include "gpu_analysis.h"
#include "gpu_measurement.h"
#include "tuner/tune_options.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashwright {

struct AnalyzedGpuTiles {
    GpuTiles tiles;
    GpuAnalysis analysis;
    std::vector<double> ratios;  // of predicted cycles to the baseline's, by architecture; empty for a failure

    double ratio() const;  // geometric mean; 1 if there is none
};

struct TunedGpuKernel {
    ConfiguredKernel kernel;
    std::size_t space_size = 0;
    std::vector<AnalyzedGpuTiles> tried;  // the baseline first
    std::map<std::string, int> failures;  // by outcome
    // The prediction.
    std::size_t best = 0;   // in `tried`
    double ratio = 1;       // of the best
    bool win = false;       // it would replace the baseline
    bool compared = false;  // a candidate besides the baseline is valid

    bool baseline_measured = false;          // its tiles were chosen on a device, so no prediction replaces them
    bool for_device = false;                 // there is a device, so no prediction decides
    std::optional<GpuMeasurement> measured;  // on the device, unless that failed

    // The result: by measurement if there is a device, otherwise by prediction.
    bool replaces() const { return for_device ? measured && measured->win() : win && !baseline_measured; }
    bool judged() const { return for_device ? measured && measured->compared : compared; }
    const GpuTiles &best_tiles() const {
        return measured ? measured->candidates[measured->best].tiles : tried[best].tiles;
    }
};

struct GpuTuneOutcome {
    std::vector<TunedGpuKernel> kernels;
    std::vector<std::string> architectures;  // of the predictions; empty if there are none
    std::optional<CudaDevice> device;
    std::string no_device;  // why there is none
    std::string results_path;
    bool interrupted = false;
    bool written = false;  // the configuration
    std::string failure;   // in one line; empty if all went well
};

// Throws std::invalid_argument for invalid options, std::runtime_error if it cannot go on. Results so far are written
// also when a stop is requested.
GpuTuneOutcome tune_gpu(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
