/// @file
/// flashwright on GPUs for C++: views and options of flashwright.hpp over the C interface of flashwright_gpu.h.
/// Header-only; nothing here throws.
#pragma once

#include "flashwright/flashwright.hpp"
#include "flashwright/flashwright_gpu.h"

namespace flashwright {

/// Whether a device can be used here.
/// @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
/// @return FLASHWRIGHT_DEVICE_ERROR with a message that says why not.
FLASHWRIGHT_LOCAL inline Status gpu_available(const char *backend) { return flashwright_gpu_available(backend); }

/// As forward, on a GPU, for float alone; flashwright_gpu_forward says what else a GPU kernel does not take, and takes
/// FLASHWRIGHT_F16.
/// @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
/// @param q [batch, heads, seqlen_q, head_dim], in host memory as all others.
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param[out] out [batch, heads, seqlen_q, head_dim_v].
/// @param[out] softmax_lse [batch, heads, seqlen_q], or {} if it is not wanted.
/// @param options What the scores go through.
/// @return As flashwright_gpu_forward.
FLASHWRIGHT_LOCAL inline Status gpu_forward(const char *backend, const ConstTensorView &q, const ConstTensorView &k,
                                            const ConstTensorView &v, const TensorView &out,
                                            const TensorView &softmax_lse = {}, const ScoreOptions &options = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_gpu_forward(&args, backend, nullptr);
}

/// As backward, on a GPU, for float alone; flashwright_gpu_backward says what else a GPU kernel does not take, and
/// takes FLASHWRIGHT_F16.
/// @param backend "opencl" or "cuda"; "vulkan" in a build that has it.
/// @param q [batch, heads, seqlen_q, head_dim], in host memory as all others.
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param out What forward wrote, [batch, heads, seqlen_q, head_dim_v].
/// @param softmax_lse What forward wrote, [batch, heads, seqlen_q].
/// @param dout The gradient of out, in its shape.
/// @param[out] gradients Overwritten, not added to; dbias may be empty.
/// @param options What forward was given.
/// @return As flashwright_gpu_backward.
FLASHWRIGHT_LOCAL inline Status gpu_backward(const char *backend, const ConstTensorView &q, const ConstTensorView &k,
                                             const ConstTensorView &v, const ConstTensorView &out,
                                             const ConstTensorView &softmax_lse, const ConstTensorView &dout,
                                             const Gradients &gradients, const ScoreOptions &options = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_gpu_backward(&args, backend, nullptr);
}

/// As gpu_forward, on tensors in device memory and a stream; flashwright_gpu_forward_on_stream says what holds for
/// them.
/// @param stream Where it runs.
/// @param q [batch, heads, seqlen_q, head_dim], in device memory as all others.
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param[out] out [batch, heads, seqlen_q, head_dim_v].
/// @param[out] softmax_lse [batch, heads, seqlen_q], or {} if it is not wanted.
/// @param options What the scores go through; bias and mask in device memory, key lengths and slopes in host memory.
/// @return As flashwright_gpu_forward_on_stream.
FLASHWRIGHT_LOCAL inline Status gpu_forward(const flashwright_gpu_stream &stream, const ConstTensorView &q,
                                            const ConstTensorView &k, const ConstTensorView &v, const TensorView &out,
                                            const TensorView &softmax_lse = {}, const ScoreOptions &options = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_gpu_forward_on_stream(&args, &stream, nullptr);
}

/// As gpu_backward, on tensors in device memory and a stream; flashwright_gpu_backward_on_stream says what holds for
/// them.
/// @param stream Where it runs.
/// @param q [batch, heads, seqlen_q, head_dim], in device memory as all others.
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param out What forward wrote, [batch, heads, seqlen_q, head_dim_v].
/// @param softmax_lse What forward wrote, [batch, heads, seqlen_q].
/// @param dout The gradient of out, in its shape.
/// @param[out] gradients Overwritten, not added to; dbias may be empty.
/// @param options What forward was given; bias and mask in device memory, key lengths and slopes in host memory.
/// @return As flashwright_gpu_backward_on_stream.
FLASHWRIGHT_LOCAL inline Status gpu_backward(const flashwright_gpu_stream &stream, const ConstTensorView &q,
                                             const ConstTensorView &k, const ConstTensorView &v,
                                             const ConstTensorView &out, const ConstTensorView &softmax_lse,
                                             const ConstTensorView &dout, const Gradients &gradients,
                                             const ScoreOptions &options = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_gpu_backward_on_stream(&args, &stream, nullptr);
}

/// As flashwright_gpu_release.
/// @param stream Backend and context.
/// @return Why there is no such backend or context.
FLASHWRIGHT_LOCAL inline Status gpu_release(const flashwright_gpu_stream &stream) {
    return flashwright_gpu_release(&stream);
}

}  // namespace flashwright
