// flashwright on GPUs for C++: views and options of flashwright.hpp over the C interface of flashwright_gpu.h.
// Header-only; nothing here throws.
#pragma once

#include "flashwright/flashwright.hpp"
#include "flashwright/flashwright_gpu.h"

namespace flashwright {

// Whether a device of `backend`, "opencl" or "cuda", can be used here.
inline Status gpu_available(const char *backend) { return flashwright_gpu_available(backend); }

// As forward, on a GPU; fails also where there is no device, and for what a GPU kernel does not take: see
// flashwright_gpu.h.
inline Status gpu_forward(const char *backend, const ConstTensorView &q, const ConstTensorView &k,
                          const ConstTensorView &v, const TensorView &out, const TensorView &softmax_lse = {},
                          const ScoreOptions &options = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_gpu_forward(&args, backend, nullptr);
}

// As backward, on a GPU, without gradients.dbias.
inline Status gpu_backward(const char *backend, const ConstTensorView &q, const ConstTensorView &k,
                           const ConstTensorView &v, const ConstTensorView &out, const ConstTensorView &softmax_lse,
                           const ConstTensorView &dout, const Gradients &gradients, const ScoreOptions &options = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_gpu_backward(&args, backend, nullptr);
}

}  // namespace flashwright
