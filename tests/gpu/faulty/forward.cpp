// CUDA forward kernels that must never win. One without a fault of its own leaves the result as it is.
#include "tests/tuner/fault.h"

#include <HalideRuntime.h>

#include <cstdint>

extern "C" int flashwright_candidate(const void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                                     halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                                     halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, float,
                                     float, halide_buffer_t *) {
    fail();
    return 0;
}
