// FLASHWRIGHT_KERNEL: the kernel for all calls of its op and dtype that do not name one.
#pragma once

#include "flashwright/flashwright.h"

namespace flashwright {

// Read from the environment once.
struct KernelOverride {
    int index = -1;             // into kKernels; -1: not set
    flashwright_status status;  // the error if the value names no kernel of this build
};
const KernelOverride &kernel_override();

// The index into kKernels; -1: no such name.
int find_kernel(const char *name);

}  // namespace flashwright
