// CPU kernels as a measurement target: one thread, CPU time.
#pragma once

#include "measure/shape_spec.h"
#include "measurement_target.h"
#include "tuner/candidates/kernel_family.h"

#include <memory>
#include <vector>

namespace flashwright {

std::unique_ptr<MeasurementTarget> make_cpu_target(const KernelFamily &family, const std::vector<ShapeSpec> &shapes);

}  // namespace flashwright
