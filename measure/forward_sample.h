// The tensors of one forward call of a given shape.
#pragma once

#include "flashwright/flashwright.h"
#include "shape_spec.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace flashwright {

class ForwardSample {
 public:
    // Contents are undefined until fill(). `placement` as for allocate_tensors.
    ForwardSample(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement = 0);
    void fill();  // g(n, s) = (((37n + 101s + 13) mod 97) - 48) / 32, exact in every dtype; s = 1, 2, 3 for Q, K, V
    const flashwright_forward_args &args() const { return args_; }
    const ShapeSpec &shape() const { return shape_; }

 private:
    ShapeSpec shape_;
    std::unique_ptr<std::byte[]> memory_;
    flashwright_forward_args args_;
};

}  // namespace flashwright
