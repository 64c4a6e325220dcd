// What Halide 21 compiles wrongly, or not at all, for RISC-V vectors.
#pragma once

#include <Halide.h>

namespace flashwright {

// For a target with RVV, writes in other words what goes wrong there: a vector select by one truth for all lanes (it
// ends in "Calling a function with a bad signature"), a vector's logical not (a call of a function that does not
// exist), loads and stores with a stride (it is taken for bytes), and scatters (their index counts whole vectors).
// Other targets' code stays as it is.
void suit_riscv_vectors(Halide::Pipeline pipeline, const Halide::Target &target);

}  // namespace flashwright
