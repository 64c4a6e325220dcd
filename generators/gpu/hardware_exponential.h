// The exponential instruction of NVIDIA GPUs in place of the polynomial.
#pragma once

#include <Halide.h>

namespace flashwright {

// Replaces every exp_nonpositive(x) of f32 in the definitions of `f` by ex2.approx.ftz(x log2(e)); for CUDA only. The
// PTX ISA documents a relative error of at most 2^-22.5, exactly 1 at 0, 0 below the smallest normal number, and NaN at
// NaN.
void use_hardware_exponential(Halide::Func f);

}  // namespace flashwright
