// What tuning a CPU kernel found: the rows of its table.
#pragma once

#include "measure/shape_spec.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/comparison/paired_statistics.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

// The variant that serves a shape, with the verdict of its paired comparison; of the fastest candidate for a tie.
struct TunedRow : PairedVerdict {
    ShapeSpec shape;
    std::size_t point = 0;
    double noise_floor = 0;
};

struct TunedKernel {
    KernelFamily family;
    std::vector<TunedRow> rows;
    std::vector<CpuTiles> tiles;  // by row
    std::size_t space_size = 0, tried = 0;
    std::map<std::string, int> failures;  // number by verdict
    bool interrupted = false;
    bool all_failed = false;  // candidates were tried, and only the baseline could be measured
};

// As `tune --json` prints it.
void to_json(nlohmann::ordered_json &json, const TunedKernel &kernel);

}  // namespace flashwright
