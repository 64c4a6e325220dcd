// FLASHWRIGHT_KERNEL: the kernel for all calls of its op and dtype that name none themselves.
#pragma once

#include "flashwright/flashwright.h"

namespace flashwright {

// Read once.
struct KernelOverride {
    int index = -1;             // into kKernels; -1: not set
    flashwright_status status;  // why what is set cannot be used, whatever the call
};
const KernelOverride &kernel_override();

// -1: no such name.
int find_kernel(const char *name);

}  // namespace flashwright
