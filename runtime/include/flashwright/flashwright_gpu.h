/**
 * @file
 * flashwright on GPUs: an optional second library (flashwright_gpu) that uses the OpenCL or CUDA of the driver.
 *
 * Drivers are loaded at the first call. Without a driver, calls return FLASHWRIGHT_DEVICE_ERROR. Tensors are in host
 * memory: a call copies them to the device, and outputs are complete when it returns. The functions that end in
 * _on_stream take tensors in device memory and wait for nothing.
 */
#ifndef FLASHWRIGHT_FLASHWRIGHT_GPU_H
#define FLASHWRIGHT_FLASHWRIGHT_GPU_H

#include "flashwright/flashwright.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether a device can be used here.
 * @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
 * @return FLASHWRIGHT_OK; FLASHWRIGHT_DEVICE_ERROR with a message that says why not; FLASHWRIGHT_UNSUPPORTED for a
 *     backend that is not built, FLASHWRIGHT_INVALID_ARGUMENT for NULL.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_available(const char *backend);

/**
 * flashwright_forward on a GPU, with all its options, shapes and strides; "vulkan" supports some of them.
 *
 * Limits, past which the call is FLASHWRIGHT_UNSUPPORTED: F32 or F16 ("vulkan": F32); head_dim and head_dim_v at most
 * 128 ("cuda" with F32: 256); at most 65535 heads and 65535 batch entries; less than 2^31 elements in each tensor,
 * padded to whole tiles. With score terms, or values of V that are not finite, also less than 2^31 pairs batch * heads
 * * seqlen_q * seqlen_k, padded. With F16, q, k, v, out and bias are F16, and softmax_lse and alibi_slopes are F32.
 * Arithmetic is in F32.
 * @param args Tensors in host memory and options, as for flashwright_forward.
 * @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
 * @param[out] kernel On success the name of the kernel that ran; may be NULL.
 * @return As flashwright_forward, or FLASHWRIGHT_DEVICE_ERROR with the driver's words.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_forward(const flashwright_forward_args *args, const char *backend,
                                                           const char **kernel);

/**
 * flashwright_backward on a GPU, with all its options.
 *
 * Limits: head_dim and head_dim_v at most 128, otherwise those of flashwright_gpu_forward. With F16, q, k, v, out,
 * dout, bias and all gradients are F16, and softmax_lse and alibi_slopes are F32. Arithmetic is in F32, and gradients
 * are rounded once. A dbias needs the gradients of all scores in F32, on the device and in host memory: batch * heads *
 * seqlen_q * seqlen_k elements, padded, less than 2^31.
 * @param args Tensors in host memory and options, as for flashwright_backward.
 * @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
 * @param[out] kernel On success the name of the kernel that ran; may be NULL.
 * @return As flashwright_backward, or FLASHWRIGHT_DEVICE_ERROR with the driver's words.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_backward(const flashwright_backward_args *args, const char *backend,
                                                            const char **kernel);

/** Where a call on tensors in device memory runs. Zero-initialised members, except the backend, are the defaults. */
typedef struct flashwright_gpu_stream {
    const char *backend; /**< "cuda"; others take no tensors in device memory. */
    void *context;       /**< The CUcontext of tensors and stream; NULL: the one that is current in this thread. */
    void *stream;        /**< A CUstream, which a cudaStream_t is too; NULL: the default stream of the context. */
    /**
     * 1: the caller guarantees that V (in backward Q, K, V and dout) is finite, except past a key length. If it is not,
     * all rows may be wrong. 0: V may hold NaN and infinity. The NaN-safe kernels (suffix `_nansafe`) run, which are
     * slower.
     */
    int32_t finite;
} flashwright_gpu_stream;

/**
 * flashwright_gpu_forward on tensors in device memory, in the order of a stream.
 *
 * q, k, v, out, softmax_lse, bias and mask are in the device memory of the stream's context, with any strides. Each
 * tensor spans less than 2^31 elements. key_lengths, alibi_slopes and the structures are in host memory and are read
 * before the call returns. The call enqueues its work and waits for nothing. Tensors must stay valid and unchanged
 * until the stream has done the work. Working memory on the device is allocated and freed in the stream's order
 * (cuMemAllocAsync). A stream that is being captured is FLASHWRIGHT_DEVICE_ERROR.
 *
 * Tensors are copied on the device into the kernel's layout. q, k and v are read in place if they already have it:
 * dense [batch, heads, seqlen, head_dim], aligned to 16 bytes, a head_dim of a kernel, lengths that are multiples of
 * the kernel's tiles, and no key_lengths below seqlen_k.
 * @param args As for flashwright_gpu_forward.
 * @param stream Where it runs.
 * @param[out] kernel On success the name of the attention kernel that was enqueued; may be NULL.
 * @return As flashwright_gpu_forward for errors that the host detects. After FLASHWRIGHT_DEVICE_ERROR and
 *     FLASHWRIGHT_OUT_OF_MEMORY the outputs are unchanged, unless the driver refused to copy softmax_lse after out was
 *     written. The stream reports later errors on the device, such as a bad pointer.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_forward_on_stream(const flashwright_forward_args *args,
                                                                     const flashwright_gpu_stream *stream,
                                                                     const char **kernel);

/**
 * flashwright_gpu_backward on tensors in device memory, in the order of a stream.
 *
 * The rules of flashwright_gpu_forward_on_stream apply. out, dout, dq, dk, dv and dbias are in device memory as well.
 * All inputs are copied on the device into the kernels' layout, and all gradients out of it. For a dbias the working
 * memory holds the gradients of all scores, as in flashwright_gpu_backward.
 * @param args As for flashwright_gpu_backward.
 * @param stream Where it runs.
 * @param[out] kernel On success the name of the attention kernel that was enqueued; may be NULL. Left alone if there
 * are no pairs of rows and keys.
 * @return As flashwright_gpu_backward for errors that the host detects. After FLASHWRIGHT_DEVICE_ERROR and
 *     FLASHWRIGHT_OUT_OF_MEMORY the gradients are unchanged, unless the driver refused to copy one after others were
 *     written.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_backward_on_stream(const flashwright_backward_args *args,
                                                                      const flashwright_gpu_stream *stream,
                                                                      const char **kernel);

/**
 * Unloads the kernels from a context in which calls on streams ran. Call it when all work of the context is done,
 * before the context is destroyed.
 *
 * Otherwise a new context, which may have the same address, must not be used for calls.
 * @param stream Backend and context.
 * @return FLASHWRIGHT_OK, or an error that says why there is no such backend or context.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_release(const flashwright_gpu_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
