/**
 * @file
 * flashwright on GPUs: an optional library (flashwright_gpu) beside the other, through the driver's OpenCL or CUDA.
 *
 * Drivers are loaded at the first call. Where there is none, calls return FLASHWRIGHT_DEVICE_ERROR, and nothing else
 * changes. Tensors are in host memory, as everywhere: they are copied to the device for the call, and outputs are
 * complete when it returns.
 */
#ifndef FLASHWRIGHT_FLASHWRIGHT_GPU_H
#define FLASHWRIGHT_FLASHWRIGHT_GPU_H

#include "flashwright/flashwright.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether a device can be used here.
 * @param backend "opencl" or "cuda".
 * @return FLASHWRIGHT_OK, or FLASHWRIGHT_DEVICE_ERROR with a message that says why not.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_available(const char *backend);

/**
 * flashwright_forward on a GPU, with all its options, shapes and strides.
 *
 * F32 only, head_dim and head_dim_v up to 128, on "cuda" up to 256, and less than 2^31 elements in each tensor once
 * padded to whole tiles: else FLASHWRIGHT_UNSUPPORTED.
 * @param args Tensors in host memory and options, as for flashwright_forward.
 * @param backend "opencl" or "cuda".
 * @param[out] kernel On success the name of the kernel that ran; may be NULL.
 * @return As flashwright_forward, or FLASHWRIGHT_DEVICE_ERROR with the driver's words.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_forward(const flashwright_forward_args *args, const char *backend,
                                                           const char **kernel);

/**
 * flashwright_backward on a GPU, with all its options but dbias.
 *
 * F32 only, with the limits of flashwright_gpu_forward; a dbias is FLASHWRIGHT_UNSUPPORTED too.
 * @param args Tensors in host memory and options, as for flashwright_backward.
 * @param backend "opencl" or "cuda".
 * @param[out] kernel On success the name of the kernel that ran; may be NULL.
 * @return As flashwright_backward, or FLASHWRIGHT_DEVICE_ERROR with the driver's words.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_backward(const flashwright_backward_args *args, const char *backend,
                                                            const char **kernel);

#ifdef __cplusplus
}
#endif
#endif
