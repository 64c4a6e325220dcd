// A results file, read back as spaces that were searched.
#pragma once

#include "search_space.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

struct RecordedTrial {
    std::vector<int> point;
    std::string verdict, detail;
    double ratio = 0;         // over the default's time; 0: it failed
    double milliseconds = 0;  // 0: unknown
    double compile_milliseconds = 0, check_milliseconds = 0;
    std::vector<double> runtimes;
    bool is_default = false;
};

// The trials of one kernel on one shape, in the order of the run.
struct RecordedSpace {
    std::string op, dtype, isa, shape;
    std::vector<std::string> parameters;
    std::vector<RecordedTrial> trials;
};

struct RecordedRun {
    nlohmann::json metadata;
    std::vector<RecordedSpace> spaces;
};

// Throws std::runtime_error that names the file and what is wrong.
RecordedRun read_results(const std::string &path);

}  // namespace flashwright
