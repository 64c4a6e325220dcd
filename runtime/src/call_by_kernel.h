// Not part of the API: calls by a kernel that no registry holds, for the tuner.
#pragma once

#include "flashwright/flashwright.h"

#include "kernel_abi.h"

namespace flashwright {

// flashwright_forward, but by `kernel`, whatever execution->kernel and ->isa say. With `as_shipped`, rows that fill no
// tile go where they would go if `kernel` were chosen in this build; without it they too are the kernel's.
flashwright_status forward_by_kernel(const flashwright_forward_args &args, const flashwright_execution &execution,
                                     const Kernel &kernel, bool as_shipped);

// flashwright_backward, likewise.
flashwright_status backward_by_kernel(const flashwright_backward_args &args, const flashwright_execution &execution,
                                      const Kernel &kernel);

}  // namespace flashwright
