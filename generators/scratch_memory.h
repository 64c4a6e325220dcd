// Kernels get their temporary memory from the caller's task, not from a global allocator.
#pragma once

#include <Halide.h>

namespace flashwright {

// Turns every heap allocation of `pipeline` into calls of
//   void *flashwright_scratch_allocate(void *user_context, uint64_t bytes)   and
//   int flashwright_scratch_free(void *user_context, void *block)
// in the order of a stack.
void allocate_from_scratch(Halide::Pipeline pipeline);

}  // namespace flashwright
