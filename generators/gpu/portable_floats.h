// What Halide 21 does not say as it is to the compilers of some GPU interfaces.
#pragma once

#include <Halide.h>

namespace flashwright {

// exp rounds to an integer by adding a number so large that what follows the point is lost, and subtracting it. Halide
// does not tell Vulkan, Metal and WebGPU that these must be done as written, and their compilers drop both. For them
// such additions become an instruction that rounds. In WGSL Halide writes infinity as an integer; it becomes the bits
// of one.
void make_floats_generic(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
