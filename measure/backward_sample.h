// The tensors of one backward call of a given shape.
#pragma once

#include "flashwright/flashwright.h"
#include "forward_sample.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace flashwright {

class BackwardSample {
 public:
    // Contents are undefined until fill(). `placement` as for allocate_tensors.
    BackwardSample(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement = 0);
    void fill();  // Q, K, V as ForwardSample, dO with s = 4; out and softmax_lse by forward
    const flashwright_backward_args &args() const { return args_; }

 private:
    ForwardSample forward_;
    std::unique_ptr<std::byte[]> memory_;
    flashwright_backward_args args_;
};

}  // namespace flashwright
