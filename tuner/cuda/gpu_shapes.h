// Which shapes a GPU kernel is measured on.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"

#include <vector>

namespace flashwright {

// Of those given, what the kernel would take among all `kernels`; if none is given: dense, causal, and lengths that
// fill no tile.
std::vector<ShapeSpec> shapes_of(const ConfiguredKernel &kernel, const std::vector<ConfiguredKernel> &kernels,
                                 const std::vector<ShapeSpec> &given);

}  // namespace flashwright
