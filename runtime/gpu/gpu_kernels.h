// The signatures of generated GPU kernels, and the table of kernels that flashwright_plan writes from the
// configuration.
#pragma once

#include <cstdint>

#include "flashwright/flashwright.h"
#include "gpu_stream_driver.h"
#include "kernels/gpu_tiles.h"
#include "runtime/src/kernel_abi.h"

struct halide_buffer_t;
struct halide_device_interface_t;

namespace flashwright {

// Computes all heads of a call. generators/gpu/forward_gpu_generator.cpp explains the buffers. Returns Halide's error
// code.
using GpuForwardKernel = int (*)(const void *user_context, halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v,
                                 halide_buffer_t *bias, halide_buffer_t *mask, halide_buffer_t *alibi_slopes,
                                 halide_buffer_t *lo_offset, halide_buffer_t *hi_offset,
                                 halide_buffer_t *diagonal_offset, halide_buffer_t *key_count, halide_buffer_t *plan,
                                 float softmax_scale, float softcap, halide_buffer_t *result);

// The calls that a kernel takes.
struct GpuKernelRange {
    const char *name, *backend;
    flashwright_dtype dtype;
    unsigned terms;      // Terms
    bool assume_finite;  // takes only tensors without NaN and infinity: V in forward, Q, K, V and dO in backward
    int head_dim;
};

struct GpuKernel : GpuKernelRange {
    GpuTiles tiles;
    GpuForwardKernel forward;
};

// One pass of backward over all heads. generators/gpu/backward_gpu_generator.cpp explains the buffers.
using GpuBackwardPass = int (*)(const void *user_context, halide_buffer_t *queries, halide_buffer_t *keys,
                                halide_buffer_t *alibi_slope, halide_buffer_t *diagonal_key, halide_buffer_t *bias,
                                halide_buffer_t *mask, halide_buffer_t *bias_offset, halide_buffer_t *mask_offset,
                                halide_buffer_t *plan, std::int32_t heads, std::int32_t head_rows, float softmax_scale,
                                float softcap, halide_buffer_t *result);

// Together, the passes compute each of dQ, dK and dV once. Kernels with the term bias have one more pass, for dbias.
struct GpuBackwardKernel : GpuKernelRange {
    struct Pass {
        bool owns_keys;  // else query rows
        bool dk, dv;     // what a pass that owns keys computes, in this order
        bool dbias;      // computes dS, the gradient of every score, instead of dQ
        GpuTiles tiles;
        GpuBackwardPass run;
    };
    int pass_count;
    Pass passes[4];
};

// The kernels that prepare tensors on the device and copy results to the caller's.
struct GpuStreamKernels {
    // See generators/gpu/copy_gpu_generator.cpp.
    using Copy = int (*)(const void *user_context, halide_buffer_t *from, halide_buffer_t *rows,
                         std::int32_t threads_per_row, std::int32_t turn, std::int32_t columns_per_thread,
                         halide_buffer_t *to);
    // See generators/gpu/gradient_rows_gpu_generator.cpp.
    using Columns = int (*)(const void *user_context, halide_buffer_t *lo_offset, halide_buffer_t *hi_offset,
                            halide_buffer_t *count, halide_buffer_t *other_count, halide_buffer_t *lse,
                            halide_buffer_t *out, halide_buffer_t *dout, halide_buffer_t *columns);
    using Terms = int (*)(const void *user_context, halide_buffer_t *alibi_slopes, halide_buffer_t *diagonal,
                          halide_buffer_t *count, std::int32_t keys, std::int32_t heads_kv, std::int32_t bias_row,
                          std::int32_t bias_head, std::int32_t bias_batch, std::int32_t mask_row,
                          std::int32_t mask_head, std::int32_t mask_batch, halide_buffer_t *quantities);

    // See generators/gpu/bias_gradient_gpu_generator.cpp.
    using BiasGradient = int (*)(const void *user_context, halide_buffer_t *scores, std::int32_t rows,
                                 std::int32_t heads, std::int32_t batches, halide_buffer_t *bias);

    Copy copy_f32, copy_shared_rows_f32, copy_f16, copy_bool;
    Columns columns_of_rows, columns_of_rows_f16, columns_of_keys;  // for keys, lse is passed for out and dout, too
    Terms terms;
    BiasGradient bias_gradient, bias_gradient_f16;
};

struct GpuDevice {
    const char *backend;
    const halide_device_interface_t *(*interface)();
    const GpuStreamDriver *streams;   // NULL: the backend takes no tensors in device memory
    GpuStreamKernels stream_kernels;  // with streams
};
extern const GpuDevice kGpuDevices[];
extern const int kGpuDeviceCount;

// The first kernel that takes a call is the best one for it.
extern const GpuKernel kGpuKernels[];
extern const int kGpuKernelCount;
extern const GpuBackwardKernel kGpuBackwardKernels[];
extern const int kGpuBackwardKernelCount;

}  // namespace flashwright
