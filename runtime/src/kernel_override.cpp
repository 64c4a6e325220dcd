#include "kernel_override.h"

#include <cstdlib>
#include <cstring>

#include "kernel_abi.h"
#include "status.h"

namespace flashwright {

int find_kernel(const char *name) {
    for (int i = 0; i < kKernelCount; ++i) {
        if (std::strcmp(kKernels[i].name, name) == 0) return i;
    }
    return -1;
}

const KernelOverride &kernel_override() {
    static const KernelOverride override = [] {
        KernelOverride read;
        read.status = ok_status();
        const char *name = std::getenv("FLASHWRIGHT_KERNEL");
        if (name == nullptr || name[0] == '\0') return read;
        read.index = find_kernel(name);
        if (read.index < 0) {
            read.status = make_status(
                FLASHWRIGHT_INVALID_ARGUMENT,
                "environment variable FLASHWRIGHT_KERNEL: expected the name of a kernel of this build, got '%s'", name);
        }
        return read;
    }();
    return override;
}

}  // namespace flashwright
