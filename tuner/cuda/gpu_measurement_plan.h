// What is measured of a GPU kernel: on which shapes, and which candidates of a search by prediction.
#pragma once

#include "gpu_configuration.h"
#include "gpu_tuning.h"
#include "measure/shape_spec.h"

#include <cstddef>
#include <vector>

namespace flashwright {

// The given shapes for which the kernel would be chosen among `kernels`. If none is given: a dense and a causal shape,
// and one whose lengths fill no tile.
std::vector<ShapeSpec> shapes_of(const ConfiguredKernel &kernel, const std::vector<ConfiguredKernel> &kernels,
                                 const std::vector<ShapeSpec> &given);

// Up to `count` valid candidates with the best predictions, as indices of `tried`, whose first is the baseline and is
// skipped. At most two of them share rows, block_k and threads_per_row.
std::vector<std::size_t> gpu_shortlist(const std::vector<AnalyzedGpuTiles> &tried, std::size_t count);

}  // namespace flashwright
