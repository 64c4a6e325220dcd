// Forward kernels that must never win. Compiled once for each fault: FAULT is its number.
#include "kernel_abi.h"

#include <HalideRuntime.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Fault { kWrongScale = 1, kHalfWritten, kNaN, kSegfault, kAbort, kEndless, kMemory, kBeside };

float *row_of(halide_buffer_t *buffer, int row) {
    return reinterpret_cast<float *>(buffer->host) + static_cast<std::ptrdiff_t>(row) * buffer->dim[1].stride;
}

// The mean of the values seen, in place of attention: a kernel whose scale is 0.
void mean_of_values(halide_buffer_t *v, halide_buffer_t *out, halide_buffer_t *lse) {
    const int channels = out->dim[0].extent, rows = out->dim[1].extent, keys = v->dim[1].extent;
    for (int row = 0; row < rows; ++row) {
        std::memset(row_of(out, row), 0, static_cast<std::size_t>(channels) * sizeof(float));
        for (int c = 0; c < channels; ++c) {
            for (int key = 0; key < keys; ++key) row_of(out, row)[c] += row_of(v, key)[c] / static_cast<float>(keys);
        }
        reinterpret_cast<float *>(lse->host)[row] = 0;
    }
}

}  // namespace

extern "C" int flashwright_candidate(void *, halide_buffer_t *, halide_buffer_t *, halide_buffer_t *v,
                                     halide_buffer_t *, halide_buffer_t *, double, double, double, std::int32_t,
                                     std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                     std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                     halide_buffer_t *out, halide_buffer_t *lse) {
    const int rows = out->dim[1].extent;
    switch (FAULT) {
        case kWrongScale:
            mean_of_values(v, out, lse);
            break;
        case kHalfWritten:
            for (int row = 0; row < rows / 2; ++row) {
                std::memset(row_of(out, row), 0, static_cast<std::size_t>(out->dim[0].extent) * sizeof(float));
                reinterpret_cast<float *>(lse->host)[row] = 0;
            }
            break;
        case kNaN:
            for (int row = 0; row < rows; ++row)
                std::memset(row_of(out, row), 0xff, static_cast<std::size_t>(out->dim[0].extent) * sizeof(float));
            break;
        case kSegfault:
            *static_cast<volatile int *>(nullptr) = 1;
            break;
        case kAbort:
            std::abort();
        case kEndless:
            for (volatile int i = 0;; i = i + 1) {
            }
        case kMemory: {
            constexpr std::size_t kBytes = std::size_t{64} << 30;
            void *memory = operator new(kBytes);
            std::memset(memory, 1, kBytes);
            operator delete(memory);
            break;
        }
        case kBeside:
            row_of(out, rows)[out->dim[0].extent + 16] = 1;
            break;
        default:
            break;
    }
    return 0;
}
