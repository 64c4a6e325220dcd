// LLVM options for which Halide has no parameter. Halide reads them from the environment when it first compiles.
#include <cstdlib>

namespace {

// Inline f32 division, within 2 units in the last place. Exact division is a call, around which registers spill.
[[maybe_unused]] const int kInlineDivision = setenv("HL_LLVM_ARGS", "-nvptx-prec-divf32=1", 1);

}  // namespace
