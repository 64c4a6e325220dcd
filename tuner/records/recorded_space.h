// The candidates in a results file, kernel by kernel and shape by shape, for reports and replays.
#pragma once

#include "results.h"

#include <string>
#include <vector>

namespace flashwright {

struct RecordedCandidate {
    std::vector<int> point;  // values of the space's parameters
    TuningResult result;
};

// The candidates of one CPU kernel on one shape, in the order of the run.
struct RecordedSpace {
    KernelId kernel;
    std::string shape;
    std::vector<std::string> parameters;
    std::vector<RecordedCandidate> candidates;
};

struct RecordedRun {
    TuningResults results;
    std::vector<RecordedSpace> spaces;
};

// Throws std::runtime_error that names the file and what is wrong; results of GPU kernels are refused.
RecordedRun read_recorded_run(const std::string &path);

}  // namespace flashwright
