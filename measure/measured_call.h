// A call of the library that can be timed: its tensors, its kernel, and what it costs.
#pragma once

#include "flashwright/flashwright.h"
#include "shape_spec.h"

#include <cstdint>
#include <memory>
#include <string>

namespace flashwright {

struct ChosenKernel {
    std::int32_t index = -1;
    std::string reason;
};

class MeasuredCall {
 public:
    virtual ~MeasuredCall() = default;
    virtual ChosenKernel choose(const flashwright_execution &execution) const = 0;  // throws if there is none
    virtual void fill() = 0;
    virtual void run(const flashwright_execution &execution) = 0;
    virtual double flops() const = 0;     // multiplications and additions
    virtual double elements() const = 0;  // of its tensors, each counted once
};

// op: forward or backward.
std::unique_ptr<MeasuredCall> make_measured_call(const std::string &op, const ShapeSpec &shape,
                                                 flashwright_dtype dtype);

}  // namespace flashwright
