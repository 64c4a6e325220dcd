// What a run of the tuner is asked for, and whom it tells about its progress.
#pragma once

#include "measure/shape_spec.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct TuneOptions {
    std::vector<std::string> ops, dtypes, isas;
    std::vector<ShapeSpec> shapes;  // for GPU kernels: empty selects each kernel's own
    double budget_seconds = 600;    // in all; for GPU kernels of the search alone, not of the measurements
    std::size_t candidates = 0;     // per kernel; 0: no limit
    std::size_t patience = 160;     // candidates without an improvement
    std::size_t max_variants = 4;
    std::string strategy = "auto";
    std::uint32_t seed = 1;
    int jobs = 0;                                  // parallel compilations; 0: one per processor
    std::map<std::string, std::vector<int>> only;  // allowed values by parameter; the baseline is always allowed
    bool resume = false;
    double compile_seconds = 60;   // limit of one compilation
    double run_seconds = 0;        // silence timeout of a candidate; 0: follows from the baseline's times
    bool keep_duplicates = false;  // time candidates whose object code equals another's
    std::string output, results, warm_start;
    std::string build_cache;
    std::vector<std::string> for_device;  // given options that need a GPU

    // winners.json → winners.t4.json, unless `results` names another file.
    std::string results_path() const {
        return results.empty() ? std::filesystem::path(output).replace_extension(".t4.json").string() : results;
    }
};

struct TuneListener {
    std::function<void(const std::string &)> step, detail, warning;
};

}  // namespace flashwright
