// A whole tuning run of CPU kernels: journal, results and winners of every kernel asked for.
#pragma once

#include "support/child_process.h"
#include "tune_options.h"
#include "tuner/records/tuned_kernel.h"

#include <string>
#include <vector>

namespace flashwright {

struct TuneOutcome {
    std::vector<TunedKernel> kernels;
    std::string results_path;
    bool interrupted = false;
    bool written = false;  // the winners file
    std::string failure;   // in one line; empty if all went well
};

// Throws std::invalid_argument for invalid options, std::runtime_error if it cannot go on. If a kernel cannot be tuned,
// the others are, and `failure` has the reason.
TuneOutcome tune(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
