// Kernels get their temporary memory from the caller's task, not from a global allocator.
#pragma once

#include <Halide.h>

namespace flashwright {

// Turns every heap allocation of `pipeline` into a call of
//   void *flashwright_scratch_allocate(void *user_context, uint64_t bytes)
// and never frees: the task's arena is reset as a whole.
void allocate_from_scratch(Halide::Pipeline pipeline);

}  // namespace flashwright
