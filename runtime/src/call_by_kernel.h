// Not part of the API: calls with a kernel that is in no registry, for the tuner.
#pragma once

#include "flashwright/flashwright.h"

#include "kernel_abi.h"

namespace flashwright {

// flashwright_forward with `kernel`; execution.kernel and execution.isa are ignored. With `as_shipped`, the rows after
// the last whole tile use the tail kernel that this build would choose; otherwise they use `kernel` too.
flashwright_status forward_by_kernel(const flashwright_forward_args &args, const flashwright_execution &execution,
                                     const Kernel &kernel, bool as_shipped);

// flashwright_backward with `kernel`; execution.kernel and execution.isa are ignored.
flashwright_status backward_by_kernel(const flashwright_backward_args &args, const flashwright_execution &execution,
                                      const Kernel &kernel);

}  // namespace flashwright
