// flashwright's attention as PyTorch operators for CPU tensors; flashwright_torch.py adds the gradient formula. Tensors
// are read and written where they lie, by their strides, in PyTorch's own threads.
#include "flashwright/flashwright.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

flashwright_tensor view(const Tensor &tensor, const char *name) {
    flashwright_tensor view = {};
    switch (tensor.scalar_type()) {
        case at::kFloat:
            view.dtype = FLASHWRIGHT_F32;
            break;
        case at::kDouble:
            view.dtype = FLASHWRIGHT_F64;
            break;
        case at::kBool:
            view.dtype = FLASHWRIGHT_BOOL;
            break;
        default:
            TORCH_CHECK(false, "flashwright: ", name, ": expected float32 or float64 (a mask: bool), got ",
                        tensor.scalar_type());
    }
    TORCH_CHECK(tensor.dim() >= 1 && tensor.dim() <= 4, "flashwright: ", name, ": expected 1 to 4 axes, got ",
                tensor.dim());
    view.data = tensor.data_ptr();
    view.rank = static_cast<int32_t>(tensor.dim());
    for (int64_t i = 0; i < tensor.dim(); ++i) {
        view.shape[i] = tensor.size(i);
        view.strides[i] = tensor.stride(i);
    }
    return view;
}

// What forward and backward are given alike. Refers to itself.
struct Options {
    Options(const OptionalTensor &bias, const OptionalTensor &mask, bool causal, std::optional<double> scale)
        : scale(scale.value_or(0)) {
        flashwright_forward_args args;
        flashwright_forward_args_init(&args);
        score = args.score;
        score.causal = causal ? 1 : 0;
        if (scale) score.softmax_scale = &this->scale;
        if (bias) score.bias = &(this->bias = view(*bias, "bias"));
        if (mask) score.mask = &(this->mask = view(*mask, "mask"));
    }
    Options(const Options &) = delete;
    Options &operator=(const Options &) = delete;

    double scale;
    flashwright_tensor bias = {}, mask = {};
    flashwright_score_options score;
};

flashwright_execution in_pytorchs_threads() {
    flashwright_execution execution = {};
    execution.threads = at::get_num_threads();
    execution.parallel_for = [](void *, int64_t count, void (*task)(void *, int64_t), void *context) {
        at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) task(context, i);
        });
    };
    return execution;
}

void check(const flashwright_status &status) {
    TORCH_CHECK(status.code == FLASHWRIGHT_OK, "flashwright: ", status.message);
}

// In the layout of q, so that what PyTorch does before and after attention meets the order of axes that it made.
Tensor empty_output(const Tensor &q, const Tensor &v) {
    if (q.dim() == 0 || v.dim() == 0 || q.size(-1) == v.size(-1)) return at::empty_like(q);
    auto shape = q.sizes().vec();
    shape.back() = v.size(-1);
    return at::empty(shape, q.options());
}

std::tuple<Tensor, Tensor> forward(const Tensor &q, const Tensor &k, const Tensor &v, const OptionalTensor &bias,
                                   const OptionalTensor &mask, bool causal, std::optional<double> scale) {
    flashwright_forward_args args = {};
    args.q = view(q, "q");
    args.k = view(k, "k");
    args.v = view(v, "v");
    const Tensor out = empty_output(q, v), lse = at::empty(q.sizes().slice(0, q.dim() - 1), q.options());
    args.out = view(out, "out");
    args.softmax_lse = view(lse, "softmax_lse");
    const Options options(bias, mask, causal, scale);
    args.score = options.score;
    const flashwright_execution execution = in_pytorchs_threads();
    check(flashwright_forward(&args, &execution));
    return {out, lse};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Tensor &dout, const Tensor &q, const Tensor &k,
                                                    const Tensor &v, const Tensor &out, const Tensor &lse,
                                                    const OptionalTensor &bias, const OptionalTensor &mask, bool causal,
                                                    std::optional<double> scale, bool want_dbias) {
    flashwright_backward_args args = {};
    args.q = view(q, "q");
    args.k = view(k, "k");
    args.v = view(v, "v");
    args.out = view(out, "out");
    args.softmax_lse = view(lse, "softmax_lse");
    args.dout = view(dout, "dout");
    const Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    const Tensor dbias = at::empty(want_dbias ? bias->sizes() : at::IntArrayRef{0}, q.options());
    args.dq = view(dq, "dq");
    args.dk = view(dk, "dk");
    args.dv = view(dv, "dv");
    if (want_dbias) args.dbias = view(dbias, "dbias");
    const Options options(bias, mask, causal, scale);
    args.score = options.score;
    const flashwright_execution execution = in_pytorchs_threads();
    check(flashwright_backward(&args, &execution));
    return {dq, dk, dv, dbias};
}

}  // namespace

TORCH_LIBRARY(flashwright, library) {
    library.def(
        "forward(Tensor q, Tensor k, Tensor v, Tensor? bias, Tensor? mask, bool causal, float? scale) -> (Tensor, "
        "Tensor)");
    library.def(
        "backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor? bias, Tensor? mask, bool "
        "causal, float? scale, bool want_dbias) -> (Tensor, Tensor, Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(flashwright, CPU, library) {
    library.impl("forward", &forward);
    library.impl("backward", &backward);
}
