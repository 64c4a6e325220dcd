// Trials of CUDA kernels: on tensors in the memory of a device, by its events.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/comparison/measurement_target.h"

#include <memory>
#include <vector>

namespace flashwright {

std::unique_ptr<TrialSubject> make_gpu_subject(const ConfiguredKernel &kernel, const std::vector<ShapeSpec> &shapes);

}  // namespace flashwright
