// The signature of generated GPU kernels, and the table of them that the build generates from configs/gpu.json.
#pragma once

#include <cstdint>

#include "../../schedules/gpu_tiles.h"
#include "kernel_abi.h"

struct halide_buffer_t;
struct halide_device_interface_t;

namespace flashwright {

// All heads of a call. Buffers are as in generators/gpu/forward_gpu_generator.cpp. Returns Halide's error code.
using GpuForwardKernel = int (*)(const void *user_context, halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v,
                                 halide_buffer_t *bias, halide_buffer_t *mask, halide_buffer_t *alibi_slopes,
                                 halide_buffer_t *lo_offset, halide_buffer_t *hi_offset,
                                 halide_buffer_t *diagonal_offset, halide_buffer_t *key_count, halide_buffer_t *plan,
                                 float softmax_scale, float softcap, halide_buffer_t *result);

struct GpuKernel {
    const char *name, *backend;
    unsigned terms;      // Terms
    bool finite_values;  // takes only V without NaN and infinity
    GpuTiles tiles;
    GpuForwardKernel forward;
};

struct GpuDevice {
    const char *backend;
    const halide_device_interface_t *(*interface)();
};
extern const GpuDevice kGpuDevices[];
extern const int kGpuDeviceCount;

// The first that can take a call is the best.
extern const GpuKernel kGpuKernels[];
extern const int kGpuKernelCount;

}  // namespace flashwright
