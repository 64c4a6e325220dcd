// Tuning the forward kernels of the CUDA backend: candidates are ranked by what a model makes of their code, and, where
// there is a device, the best of them are measured on it.
#pragma once

#include "cuda_session.h"
#include "gpu_measurement.h"
#include "gpu_trials.h"
#include "tuner/tune_listener.h"
#include "tuner/tune_options.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashwright {

struct TriedGpuTiles {
    GpuTiles tiles;
    GpuTrial trial;
    std::vector<double> ratios;  // predicted over the default's, by architecture; empty: it is out

    double ratio() const;  // geometric mean; 1 if there is none
};

struct TunedGpuKernel {
    ConfiguredKernel kernel;
    std::size_t space_size = 0;
    std::vector<TriedGpuTiles> tried;     // the default first
    std::map<std::string, int> failures;  // by outcome
    // By prediction: the best of `tried`, its ratio, whether it would replace the default, and whether some candidate
    // besides the default is valid.
    std::size_t best = 0;
    double ratio = 1;
    bool win = false;
    bool compared = false;

    bool default_measured = false;           // its tiles were chosen on a device, so no prediction replaces them
    bool for_device = false;                 // there is one, so no prediction decides
    std::optional<GpuMeasurement> measured;  // on the device, unless that failed

    // What was found, by measurement where there is a device.
    bool replaces() const { return for_device ? measured && measured->win() : win && !default_measured; }
    bool judged() const { return for_device ? measured && measured->compared : compared; }
    const GpuTiles &best_tiles() const {
        return measured ? measured->candidates[measured->best].tiles : tried[best].tiles;
    }
};

struct GpuTuneOutcome {
    std::vector<TunedGpuKernel> kernels;
    std::vector<std::string> architectures;  // of the predictions; empty: there are none
    std::optional<CudaDevice> device;
    std::string no_device;  // why there is none
    std::string results_path;
    bool interrupted = false;
    bool written = false;  // the configuration
    std::string failure;   // what went wrong with all or some of it, in one line
};

// Throws std::invalid_argument for options that cannot be, std::runtime_error if it cannot go on. What is known is
// written, also when a stop is requested.
GpuTuneOutcome tune_gpu(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
