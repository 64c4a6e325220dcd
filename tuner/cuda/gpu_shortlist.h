// What of a search by prediction is worth a device's time.
#pragma once

#include "gpu_tuning.h"

#include <cstddef>
#include <vector>

namespace flashwright {

// The best valid candidates by prediction besides the default, which is the first of `tried`, as indices of it; of
// those that differ in nothing but threads and what one step reads or sums at most two.
std::vector<std::size_t> gpu_shortlist(const std::vector<TriedGpuTiles> &tried, std::size_t count);

}  // namespace flashwright
