// A whole tuning run: every kernel asked for, its journal, results and winners.
#pragma once

#include "support/child_process.h"
#include "tune_listener.h"
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
    std::string failure;   // what went wrong with all or some of it, in one line
};

// Throws std::invalid_argument for options that cannot be, std::runtime_error if it cannot go on. What is measured is
// written, also where a kernel could not be tuned: `failure` then says why.
TuneOutcome tune(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
