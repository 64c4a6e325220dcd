// Backward kernels that must never win.
#include "fault.h"
#include "runtime/src/kernel_abi.h"

#include <HalideRuntime.h>

#include <type_traits>

extern "C" std::remove_pointer_t<flashwright::BackwardKernel> flashwright_candidate;

// Of wrong scale: it adds nothing.
extern "C" int flashwright_candidate(void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                                     halide_buffer_t *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *,
                                     halide_buffer_t *, double, double, double, std::int32_t, std::int32_t,
                                     std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                     std::int32_t, std::int32_t, std::int32_t, std::int32_t, halide_buffer_t *dq,
                                     halide_buffer_t *, halide_buffer_t *, halide_buffer_t *) {
    fail();
    if (FAULT == kNaN) std::memset(dq->host, 0xff, static_cast<std::size_t>(dq->dim[0].extent) * sizeof(float));
    return 0;
}
