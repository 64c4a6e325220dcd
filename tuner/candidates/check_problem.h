// Problems that a candidate must solve before it is timed, with the exact answers.
#pragma once

#include "kernel_family.h"
#include "measure/shape_spec.h"

#include <memory>
#include <string>
#include <vector>

namespace flashwright {

class Candidate;

class CheckProblem {
 public:
    explicit CheckProblem(const ShapeSpec &shape) : name_(to_string(shape)) {}
    virtual ~CheckProblem() = default;

    // Runs the candidate over poisoned outputs. The largest error of any output, in units of what is tolerated;
    // infinite if something beside the outputs was written. Throws what the library refuses.
    virtual double error_of(const Candidate &candidate) = 0;
    const std::string &name() const { return name_; }

 private:
    std::string name_;
};

// Awkward shapes, wide and long enough for every tile of the space, and the given ones, cut to a head and 1024 rows.
std::vector<std::unique_ptr<CheckProblem>> check_problems(const KernelFamily &family,
                                                          const std::vector<ShapeSpec> &timed);

}  // namespace flashwright
