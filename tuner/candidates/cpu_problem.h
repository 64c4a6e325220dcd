// The calls that CPU candidates are checked with and timed on.
#pragma once

#include "kernel_family.h"
#include "measure/shape_spec.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

class CpuCandidate;

// A problem and its reference result.
class CheckProblem {
 public:
    explicit CheckProblem(const ShapeSpec &shape) : name_(to_string(shape)) {}
    virtual ~CheckProblem() = default;

    // Runs the candidate on poisoned outputs. Returns the largest error of any output, in units of the tolerance;
    // infinite if it wrote beside the outputs. Throws std::runtime_error with the library's message.
    virtual double error_of(const CpuCandidate &candidate) = 0;
    const std::string &name() const { return name_; }

 private:
    std::string name_;
};

// Edge cases that are large enough for every tile of the space, then the given shapes, cut to one head and 1024 rows.
std::vector<std::unique_ptr<CheckProblem>> check_problems(const KernelFamily &family,
                                                          const std::vector<ShapeSpec> &timed);

class TimedProblem {
 public:
    virtual ~TimedProblem() = default;
    virtual void run(const CpuCandidate &candidate) const = 0;
};

// With filled inputs. `placement` is a seed of the addresses of the tensors.
std::unique_ptr<TimedProblem> make_timed_problem(const KernelFamily &family, const ShapeSpec &shape,
                                                 std::uint32_t placement);

// The shape with only as many heads as are worth timing.
ShapeSpec timed_shape(const KernelFamily &family, ShapeSpec shape);

double operations_of(const KernelFamily &family, const ShapeSpec &shape);

// An upper bound.
std::uint64_t tensor_bytes(const ShapeSpec &shape);

}  // namespace flashwright
