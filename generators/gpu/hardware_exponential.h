// The exponential that NVIDIA's processors have, in place of the polynomial.
#pragma once

#include <Halide.h>

namespace flashwright {

// Every exp_nonpositive(x) of f32 in the definitions of `f` becomes ex2.approx.ftz(x log2(e)), in CUDA alone. The PTX
// ISA gives it a relative error of at most 2^-22.5, and documents that it is exactly 1 at 0, 0 below the smallest
// normal number and NaN at NaN.
void use_hardware_exponential(Halide::Func f);

}  // namespace flashwright
