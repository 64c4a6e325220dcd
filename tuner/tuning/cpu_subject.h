// Trials of CPU kernels: on one thread, by CPU time.
#pragma once

#include "kernel_family.h"
#include "shape_spec.h"
#include "trial_subject.h"

#include <memory>
#include <vector>

namespace flashwright {

std::unique_ptr<TrialSubject> make_cpu_subject(const KernelFamily &family, const std::vector<ShapeSpec> &shapes);

}  // namespace flashwright
