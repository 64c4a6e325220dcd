// Rounding that drivers cannot take away.
#pragma once

#include <Halide.h>

namespace flashwright {

// exp rounds to an integer by adding a number so large that what follows the point is lost, and subtracting it. Halide
// does not tell Vulkan, Metal and WebGPU that these must be done as written, and their compilers drop both. For them
// such additions become an instruction that rounds.
void round_explicitly(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
