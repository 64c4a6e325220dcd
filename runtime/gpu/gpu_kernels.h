// The signature of generated GPU kernels, and the table of them that the build generates from configs/gpu.json.
#pragma once

#include <cstdint>

#include "flashwright/flashwright.h"
#include "gpu_stream_driver.h"
#include "kernels/gpu_tiles.h"
#include "runtime/src/kernel_abi.h"

struct halide_buffer_t;
struct halide_device_interface_t;

namespace flashwright {

// All heads of a call. Buffers are as in generators/gpu/forward_gpu_generator.cpp. Returns Halide's error code.
using GpuForwardKernel = int (*)(const void *user_context, halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v,
                                 halide_buffer_t *bias, halide_buffer_t *mask, halide_buffer_t *alibi_slopes,
                                 halide_buffer_t *lo_offset, halide_buffer_t *hi_offset,
                                 halide_buffer_t *diagonal_offset, halide_buffer_t *key_count, halide_buffer_t *plan,
                                 float softmax_scale, float softcap, halide_buffer_t *result);

// What a kernel takes.
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

// One pass of backward over all heads. Buffers are as in generators/gpu/backward_gpu_generator.cpp.
using GpuGradientPass = int (*)(const void *user_context, halide_buffer_t *queries, halide_buffer_t *keys,
                                halide_buffer_t *alibi_slope, halide_buffer_t *diagonal_key, halide_buffer_t *bias,
                                halide_buffer_t *mask, halide_buffer_t *bias_offset, halide_buffer_t *mask_offset,
                                halide_buffer_t *plan, std::int32_t heads, std::int32_t head_rows, float softmax_scale,
                                float softcap, halide_buffer_t *result);

// Passes that give dQ, dK and dV, each once, and one for the gradient of a bias where the kernel has that term.
struct GpuGradientKernel : GpuKernelRange {
    struct Pass {
        bool owns_keys;  // else query rows
        bool dk, dv;     // what one gives that owns keys, in this order
        bool dbias;      // gives no dQ but dS, the gradient of every score
        GpuTiles tiles;
        GpuGradientPass run;
    };
    int pass_count;
    Pass passes[4];
};

// What prepares tensors on the device and brings results to the caller's.
struct GpuStreamKernels {
    // See generators/gpu/copy_gpu_generator.cpp.
    using Copy = int (*)(const void *user_context, halide_buffer_t *from, halide_buffer_t *rows, std::int32_t parts,
                         std::int32_t turn, std::int32_t columns, halide_buffer_t *to);
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

    Copy copy_f32, copy_parts_f32, copy_f16, copy_bool;
    Columns columns_of_rows, columns_of_rows_f16, columns_of_keys;  // of keys lse stands for out and dout, too
    Terms terms;
    BiasGradient bias_gradient, bias_gradient_f16;
};

struct GpuDevice {
    const char *backend;
    const halide_device_interface_t *(*interface)();
    const GpuStreamDriver *streams;   // NULL: no tensors in device memory
    GpuStreamKernels stream_kernels;  // with streams
};
extern const GpuDevice kGpuDevices[];
extern const int kGpuDeviceCount;

// The first that can take a call is the best.
extern const GpuKernel kGpuKernels[];
extern const int kGpuKernelCount;
extern const GpuGradientKernel kGpuGradientKernels[];
extern const int kGpuGradientKernelCount;

}  // namespace flashwright
