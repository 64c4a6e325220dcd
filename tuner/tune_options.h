// What a person may say to the tuner.
#pragma once

#include "measure/shape_spec.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct TuneOptions {
    std::vector<std::string> ops, dtypes, isas;
    std::vector<ShapeSpec> shapes;  // of GPU kernels: none is their own
    double budget_seconds = 600;    // in all; of GPU kernels for the search, not for what is measured
    std::size_t candidates = 0;     // a kernel; 0: no limit
    std::size_t patience = 160;     // candidates without a better one
    std::size_t max_variants = 4;
    std::string strategy = "auto";
    std::uint32_t seed = 1;
    int jobs = 0;                                  // compilations at once; 0: the processors
    std::map<std::string, std::vector<int>> only;  // values of parameters that are allowed; the default always is
    bool resume = false;
    double compile_seconds = 60;   // of one compilation, at most
    double run_seconds = 0;        // that a candidate may say nothing; 0: follows from the default's times
    bool keep_duplicates = false;  // time candidates whose object is equal to another's
    std::string output, results, warm_start;
    std::string build_cache;
    std::vector<std::string> for_device;  // options given that mean nothing without a GPU

    // winners.json → winners.t4.json, unless `results` says another.
    std::string results_path() const {
        return results.empty() ? std::filesystem::path(output).replace_extension(".t4.json").string() : results;
    }
};

}  // namespace flashwright
