// Options of LLVM that Halide has no parameter for; Halide reads them from the environment when it first compiles.
#include <cstdlib>

namespace {

// Kernels start at a cache line. Else where a program's linker happens to put one decides up to 2 % of a short call,
// and a kernel that won as a candidate could lose as shipped.
[[maybe_unused]] const int kAlignedFunctions = setenv("HL_LLVM_ARGS", "-align-all-functions=6", 1);

}  // namespace
