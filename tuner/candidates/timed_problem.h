// What of a shape is timed, as a call that a candidate can take.
#pragma once

#include "kernel_family.h"
#include "measure/shape_spec.h"

#include <cstdint>
#include <memory>

namespace flashwright {

class Candidate;

class TimedProblem {
 public:
    virtual ~TimedProblem() = default;
    virtual void run(const Candidate &candidate) const = 0;
};

// With its inputs filled. Tensors lie where the seed `placement` says.
std::unique_ptr<TimedProblem> make_timed_problem(const KernelFamily &family, const ShapeSpec &shape,
                                                 std::uint32_t placement);

// Fewer heads where that is enough work.
ShapeSpec timed_shape(const KernelFamily &family, ShapeSpec shape);

double operations_of(const KernelFamily &family, const ShapeSpec &shape);

// About, and not less.
std::uint64_t tensor_bytes(const ShapeSpec &shape);

}  // namespace flashwright
