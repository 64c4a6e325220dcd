// CUDA kernels as a measurement target: tensors in device memory, times by events.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/comparison/measurement_target.h"

#include <memory>
#include <vector>

namespace flashwright {

std::unique_ptr<MeasurementTarget> make_gpu_target(const ConfiguredKernel &kernel,
                                                   const std::vector<ShapeSpec> &shapes);

}  // namespace flashwright
