/**
 * @file
 * flashwright on GPUs: an optional library (flashwright_gpu) beside the other, through the driver's OpenCL or CUDA.
 *
 * Drivers are loaded at the first call. Where there is none, calls return FLASHWRIGHT_DEVICE_ERROR, and nothing else
 * changes. Tensors are in host memory, as everywhere: they are copied to the device for the call, and outputs are
 * complete when it returns. The functions that end in _on_stream take them in device memory, and wait for nothing.
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
 * flashwright_forward on a GPU, with all its options, shapes and strides; on "vulkan" with some of them.
 *
 * F32, or but for "vulkan" F16, head_dim and head_dim_v up to 128, on "cuda" with F32 up to 256, at most 65535 heads
 * and batch entries, and less than 2^31 elements in each tensor once padded to whole tiles; with score terms, or values
 * of V that are not finite, also less than 2^31 pairs batch * heads * seqlen_q * seqlen_k, padded: else
 * FLASHWRIGHT_UNSUPPORTED. F16 is q, k, v, out and bias; softmax_lse and alibi_slopes are F32 then, and all is computed
 * in F32.
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
 * F32, or but for "vulkan" F16, head_dim and head_dim_v up to 128, otherwise the limits of flashwright_gpu_forward. F16
 * is q, k, v, out, dout, bias and all gradients, which are rounded once; softmax_lse and alibi_slopes are F32 then, and
 * all is computed in F32. For a dbias the gradients of all scores are held in F32 on the device and in host memory,
 * batch * heads * seqlen_q * seqlen_k elements, padded, of which there may be less than 2^31.
 * @param args Tensors in host memory and options, as for flashwright_backward.
 * @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
 * @param[out] kernel On success the name of the kernel that ran; may be NULL.
 * @return As flashwright_backward, or FLASHWRIGHT_DEVICE_ERROR with the driver's words.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_backward(const flashwright_backward_args *args, const char *backend,
                                                            const char **kernel);

/** Where a call on tensors in device memory runs. Zero-initialised but for the backend is the default. */
typedef struct flashwright_gpu_stream {
    const char *backend; /**< "cuda"; others take no tensors in device memory. */
    void *context;       /**< The CUcontext of tensors and stream; NULL: the one that is current in this thread. */
    void *stream;        /**< A CUstream, which a cudaStream_t is too; NULL: the default stream of the context. */
    /**
     * 1: the caller knows that V (of backward Q, K, V and dout) holds neither NaN nor infinity, but past a key length;
     * if it does, results are wrong in all rows. 0: it may hold anything, and the slower kernels that keep hidden keys
     * out one by one run.
     */
    int32_t finite;
} flashwright_gpu_stream;

/**
 * flashwright_gpu_forward on tensors in device memory, in the order of a stream.
 *
 * q, k, v, out, softmax_lse, bias and mask are in the device memory of the stream's context, with any strides; the
 * elements of each tensor, and what lies between the first and the last of them, are less than 2^31. A stream that is
 * being captured is FLASHWRIGHT_DEVICE_ERROR. key_lengths and
 * alibi_slopes are in host memory, and so are the structures; all of these are read before the call returns. The call
 * enqueues its work and waits for nothing: the tensors must stay, and their contents be left alone, until the stream
 * has done it. Working memory on the device is allocated and freed in the stream's order (cuMemAllocAsync).
 *
 * Tensors are copied on the device into the kernel's layout, but q, k and v that already have it: dense [batch, heads,
 * seqlen, head_dim], at 16 bytes, head_dim one that is compiled in, lengths multiples of the kernel's tiles, no
 * key_lengths below seqlen_k.
 * @param args As for flashwright_gpu_forward.
 * @param stream Where it runs.
 * @param[out] kernel On success the name of the attention kernel that was enqueued; may be NULL.
 * @return As flashwright_gpu_forward for what the host can see. After FLASHWRIGHT_DEVICE_ERROR and
 *     FLASHWRIGHT_OUT_OF_MEMORY the outputs hold what they held, unless the driver refused to copy softmax_lse when out
 *     was written. What goes wrong on the device later, as a bad pointer, the stream reports, not this call.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_forward_on_stream(const flashwright_forward_args *args,
                                                                     const flashwright_gpu_stream *stream,
                                                                     const char **kernel);

/**
 * flashwright_gpu_backward on tensors in device memory, in the order of a stream.
 *
 * What flashwright_gpu_forward_on_stream says holds here, too: out, dout, dq, dk, dv and dbias are in device memory as
 * well. All inputs are copied on the device into the kernels' layout, and all gradients out of it. For a dbias the
 * working memory holds the gradients of all scores, as flashwright_gpu_backward says.
 * @param args As for flashwright_gpu_backward.
 * @param stream Where it runs.
 * @param[out] kernel On success the name of the attention kernel that was enqueued; may be NULL, and is left alone
 * where there are no pairs of rows and keys.
 * @return As flashwright_gpu_backward for what the host can see. After FLASHWRIGHT_DEVICE_ERROR and
 *     FLASHWRIGHT_OUT_OF_MEMORY the gradients hold what they held, unless the driver refused to copy one when others
 *     were written.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_backward_on_stream(const flashwright_backward_args *args,
                                                                      const flashwright_gpu_stream *stream,
                                                                      const char **kernel);

/**
 * Unloads the kernels from a context that calls on streams ran in: before it is destroyed, when all its work is done.
 *
 * A context that is destroyed without this must not be followed by calls in a new one, which may have its address.
 * @param stream Backend and context.
 * @return FLASHWRIGHT_OK, or why there is no such backend or context.
 */
FLASHWRIGHT_API flashwright_status flashwright_gpu_release(const flashwright_gpu_stream *stream);

#ifdef __cplusplus
}
#endif
#endif
