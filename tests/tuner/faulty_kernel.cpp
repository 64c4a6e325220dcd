// Forward kernels that must never win.
#include "candidate_symbol.h"
#include "fault.h"
#include "runtime/src/kernel_abi.h"

#include <HalideRuntime.h>

namespace {

float *row_of(halide_buffer_t *buffer, int row) {
    return reinterpret_cast<float *>(buffer->host) + static_cast<std::ptrdiff_t>(row) * buffer->dim[1].stride;
}

// The mean of the values, in place of attention: a kernel whose scale is 0.
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

void write(halide_buffer_t *v, halide_buffer_t *out, halide_buffer_t *lse) {
    const int rows = out->dim[1].extent;
    fail();
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
        case kBeside:
            row_of(out, rows)[out->dim[0].extent + 16] = 1;
            break;
        default:
            break;
    }
}

struct FaultyForward {
    template <typename Arguments>
    static void run(const Arguments &all) {
        constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
        write(std::get<3>(all), std::get<kCount - 2>(all), std::get<kCount - 1>(all));
    }
};

}  // namespace

extern "C" std::remove_pointer_t<flashwright::ForwardKernel> flashwright_candidate;
template struct CandidateSymbol<flashwright::ForwardKernel, FaultyForward>;
flashwright::ForwardKernel use_of_candidate = flashwright_candidate;  // compiles it
