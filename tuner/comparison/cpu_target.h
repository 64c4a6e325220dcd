// Trials of CPU kernels: on one thread, by CPU time.
#pragma once

#include "measure/shape_spec.h"
#include "measurement_target.h"
#include "tuner/candidates/kernel_family.h"

#include <memory>
#include <vector>

namespace flashwright {

std::unique_ptr<TrialSubject> make_cpu_subject(const KernelFamily &family, const std::vector<ShapeSpec> &shapes);

}  // namespace flashwright
