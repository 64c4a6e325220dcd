// Tuning the forward kernels of the CUDA backend without a device: candidates are ranked by what a model makes of their
// code.
#pragma once

#include "gpu_trials.h"
#include "tune_listener.h"
#include "tune_options.h"

#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct TriedGpuTiles {
    GpuTiles tiles;
    GpuTrial trial;
    std::vector<double> ratios;  // predicted over the default's, by architecture; empty: it is out
};

struct TunedGpuKernel {
    GpuKernel kernel;
    std::size_t space_size = 0;
    std::vector<TriedGpuTiles> tried;     // the default first
    std::map<std::string, int> failures;  // by outcome
    std::size_t best = 0;                 // in `tried`
    double ratio = 1;                     // of the best: geometric mean over the architectures
    bool win = false;                     // it replaces the default
    bool compared = false;                // some candidate besides the default is valid
};

struct GpuTuneOutcome {
    std::vector<TunedGpuKernel> kernels;
    std::vector<std::string> architectures;
    std::string results_path;
    bool interrupted = false;
    bool written = false;  // the configuration
    std::string failure;   // what went wrong with all or some of it, in one line
};

// Throws std::invalid_argument for options that cannot be, std::runtime_error if it cannot go on. What is known is
// written, also when a stop is requested.
GpuTuneOutcome tune_gpu(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
