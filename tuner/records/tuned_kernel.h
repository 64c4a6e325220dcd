// What tuning one kernel found.
#pragma once

#include "measure/shape_spec.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/comparison/paired_verdict.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

// One row of the table to be: what serves a shape.
struct TunedRow : PairedVerdict {  // of the best contestant
    ShapeSpec shape;
    std::size_t point = 0;
    double noise_floor = 0;
};

struct TunedKernel {
    KernelFamily family;
    std::vector<TunedRow> rows;
    std::vector<CpuSimdTiles> tiles;  // of the rows, by row
    std::size_t space_size = 0, tried = 0;
    std::map<std::string, int> failures;  // by verdict
    bool interrupted = false;
    bool all_failed = false;  // nothing but the default could be measured, although something was tried
};

}  // namespace flashwright
