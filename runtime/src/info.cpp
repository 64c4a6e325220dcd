// The kernels of this build and the instruction sets of this CPU.
#include "cpu_isa.h"
#include "kernel_abi.h"
#include "kernel_choice.h"

using namespace flashwright;

const char *flashwright_version(void) { return FLASHWRIGHT_VERSION; }
const char *flashwright_config_json(void) { return kConfigJson; }
int32_t flashwright_isa_count(void) { return isa_count(); }
int32_t flashwright_kernel_count(void) { return kKernelCount; }

flashwright_isa_info flashwright_isa(int32_t index) {
    if (index < 0 || index >= isa_count()) return {};
    const DetectedIsa &entry = isa(index);
    return {entry.name, entry.description, entry.features, entry.usable ? 1 : 0, default_isa().index == index ? 1 : 0};
}

flashwright_kernel_info flashwright_kernel(int32_t index) {
    if (index < 0 || index >= kKernelCount) return {};
    const Kernel &kernel = kKernels[index];
    return {kernel.name,       op_name(kernel.op),         kernel.dtype, kernel.isa, kernel.terms_text,
            kernel.tiles_json, kernel.is_generic() ? 1 : 0};
}
