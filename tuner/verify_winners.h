// Measures the winners of a file against the baselines once more.
#pragma once

#include "support/child_process.h"
#include "tune_options.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/comparison/paired_statistics.h"

#include <string>
#include <vector>

namespace flashwright {

struct VerifiedRow {
    KernelFamily family;
    std::string variant, shape;
    double promised = 1, ratio = 1;
    Interval interval = {1, 1};
    std::string failure = {};                                            // why it could not be measured
    bool holds() const { return failure.empty() && interval.high < 1; }  // still faster than the baseline
};

// Rows whose variant is the baseline are skipped. Throws std::runtime_error if the file cannot be used here.
std::vector<VerifiedRow> verify_winners(const std::string &path, const TuneOptions &options,
                                        const TuneListener &listener, const StopRequested &stop_requested);

}  // namespace flashwright
