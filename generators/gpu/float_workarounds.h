// Floating-point code that Halide 21 does not express exactly for some GPU interfaces.
#pragma once

#include <Halide.h>

namespace flashwright {

// exp rounds to an integer: it adds a number so large that the fraction is lost, and subtracts it again. Halide does
// not tell Vulkan, Metal and WebGPU to keep this order, and their compilers drop both operations. For them such an
// addition becomes a rounding instruction. Halide also writes infinity into WGSL as an integer; it becomes infinity's
// bits.
void apply_float_workarounds(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
