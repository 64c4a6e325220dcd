// flashwright for C++: views, optional options and statuses over the C interface of flashwright.h, where shapes,
// semantics and limits are described. Header-only; nothing here throws.
//
//     std::vector<float> q(2 * 8 * 128 * 64), …;
//     flashwright::ScoreOptions options;
//     options.causal = true;
//     auto status = flashwright::forward({q.data(), {2, 8, 128, 64}}, …, {out.data(), {2, 8, 128, 64}}, {}, options);
//     if (!status.ok()) std::cerr << status.message() << "\n";
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

namespace flashwright {

// What a call returns: no outputs were written unless ok().
class Status {
 public:
    Status(const flashwright_status &status) : status_(status) {}
    bool ok() const { return status_.code == FLASHWRIGHT_OK; }
    flashwright_code code() const { return status_.code; }
    // Names the argument, what was expected and what came. Empty if ok().
    const char *message() const { return status_.message; }

 private:
    flashwright_status status_;
};

// The element type of the C interface for float, double, bool and int32_t.
template <typename T>
constexpr flashwright_dtype dtype_of() {
    using Element = std::remove_cv_t<T>;
    static_assert(std::is_same_v<Element, float> || std::is_same_v<Element, double> || std::is_same_v<Element, bool> ||
                      std::is_same_v<Element, std::int32_t>,
                  "tensors hold float, double, bool or std::int32_t");
    if (std::is_same_v<Element, double>) return FLASHWRIGHT_F64;
    if (std::is_same_v<Element, bool>) return FLASHWRIGHT_BOOL;
    return std::is_same_v<Element, float> ? FLASHWRIGHT_F32 : FLASHWRIGHT_I32;
}

// A view of memory that is only read: [batch, heads, seqlen, head_dim] or less, the last axes. Strides count elements
// and may be 0 or negative; without them the tensor is contiguous. An axis count out of range is reported by the call.
class ConstTensorView {
 public:
    ConstTensorView() = default;

    template <typename T>
    ConstTensorView(const T *data, std::initializer_list<std::int64_t> shape) {
        set(const_cast<std::remove_const_t<T> *>(data), dtype_of<T>(), shape);
        std::uint64_t stride = 1;
        for (std::int32_t i = axes(); i-- > 0;) {
            tensor_.strides[i] = static_cast<std::int64_t>(stride);
            stride *= static_cast<std::uint64_t>(tensor_.shape[i]);
        }
    }

    template <typename T>
    ConstTensorView(const T *data, std::initializer_list<std::int64_t> shape,
                    std::initializer_list<std::int64_t> strides) {
        set(const_cast<std::remove_const_t<T> *>(data), dtype_of<T>(), shape);
        if (strides.size() != shape.size()) tensor_.rank = -1;
        std::int32_t i = 0;
        for (const std::int64_t stride : strides) {
            if (i < axes()) tensor_.strides[i++] = stride;
        }
    }

    explicit ConstTensorView(const flashwright_tensor &tensor) : tensor_(tensor) {}

    const flashwright_tensor &tensor() const { return tensor_; }

 private:
    void set(void *data, flashwright_dtype dtype, std::initializer_list<std::int64_t> shape) {
        tensor_.data = data;
        tensor_.dtype = dtype;
        tensor_.rank = static_cast<std::int32_t>(shape.size());
        std::int32_t i = 0;
        for (const std::int64_t extent : shape) {
            if (i < axes()) tensor_.shape[i++] = extent;
        }
    }
    std::int32_t axes() const { return tensor_.rank < 4 ? tensor_.rank : 4; }

    flashwright_tensor tensor_ = {};
};

// The same of memory that is written.
class TensorView : public ConstTensorView {
 public:
    TensorView() = default;

    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape) : ConstTensorView(data, shape) {}

    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides)
        : ConstTensorView(data, shape, strides) {}

    explicit TensorView(const flashwright_tensor &tensor) : ConstTensorView(tensor) {}
};

// What scores go through, as flashwright_score_options. Every default is "not used".
struct ScoreOptions {
    std::optional<double> softmax_scale;  // 1/sqrt(head_dim)
    bool causal = false;
    flashwright_align align = FLASHWRIGHT_ALIGN_DEFAULT;
    std::optional<std::int64_t> diagonal;      // query i meets key i + diagonal; excludes align
    std::optional<std::int64_t> window_left;   // keys seen before the diagonal's
    std::optional<std::int64_t> window_right;  // and after it
    std::optional<double> softcap;
    std::optional<ConstTensorView> key_lengths;   // int32_t [batch]
    std::optional<ConstTensorView> bias;          // [batch|1, heads|1, seqlen_q|1, seqlen_k]
    std::optional<ConstTensorView> mask;          // bool, likewise: true is seen
    std::optional<ConstTensorView> alibi_slopes;  // [heads]

    // Refers to *this.
    flashwright_score_options to_c() const {
        flashwright_score_options options = {};
        options.softmax_scale = softmax_scale ? &*softmax_scale : nullptr;
        options.causal = causal ? 1 : 0;
        options.align = align;
        options.diagonal = diagonal ? &*diagonal : nullptr;
        options.window_left = window_left.value_or(-1);
        options.window_right = window_right.value_or(-1);
        options.softcap = softcap.value_or(0.0);
        options.key_lengths = key_lengths ? &key_lengths->tensor() : nullptr;
        options.bias = bias ? &bias->tensor() : nullptr;
        options.mask = mask ? &mask->tensor() : nullptr;
        options.alibi_slopes = alibi_slopes ? &alibi_slopes->tensor() : nullptr;
        return options;
    }
};

// The fields of flashwright_execution, all at their defaults: threads, isa, kernel, key_block, thread pool, memory.
struct Execution : flashwright_execution {
    Execution() : flashwright_execution{} {}
};

inline flashwright_forward_args to_c(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                     const TensorView &out, const TensorView &softmax_lse,
                                     const ScoreOptions &options) {
    return {q.tensor(), k.tensor(), v.tensor(), out.tensor(), softmax_lse.tensor(), options.to_c()};
}

// out = softmax(score(q k^T)) v. q, out: [batch, heads, seqlen_q, …]; k, v: [batch, heads_kv, seqlen_k, …]; softmax_lse
// [batch, heads, seqlen_q], or {} if it is not wanted. float or double, all alike. Fails on shapes, dtypes or strides
// that do not fit, outputs that overlap anything, options out of range (FLASHWRIGHT_INVALID_ARGUMENT), what this CPU or
// build cannot do (FLASHWRIGHT_UNSUPPORTED), and want of working memory (FLASHWRIGHT_OUT_OF_MEMORY).
inline Status forward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                      const TensorView &out, const TensorView &softmax_lse = {}, const ScoreOptions &options = {},
                      const Execution &execution = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_forward(&args, &execution);
}

// Where the gradients go; dbias stays empty if it is not wanted.
struct Gradients {
    TensorView dq, dk, dv, dbias;
};

inline flashwright_backward_args to_c(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                      const ConstTensorView &out, const ConstTensorView &softmax_lse,
                                      const ConstTensorView &dout, const Gradients &gradients,
                                      const ScoreOptions &options) {
    return {q.tensor(),
            k.tensor(),
            v.tensor(),
            out.tensor(),
            softmax_lse.tensor(),
            dout.tensor(),
            gradients.dq.tensor(),
            gradients.dk.tensor(),
            gradients.dv.tensor(),
            gradients.dbias.tensor(),
            options.to_c()};
}

// The gradients by q, k, v (and the bias) from dout, the gradient of out; out and softmax_lse as forward left them,
// with the options it was given. With P = softmax(score(q k^T)), delta = rowsum(dout * out) and dS = P * (dout v^T -
// delta), under a soft cap also times 1 - tanh^2 for dq and dk: dq = scale * dS k, dk = scale * dS^T q, dv = P^T dout,
// dbias = dS summed to the shape of the bias. (Dao et al. 2022, appendix B.) Fails as forward does.
inline Status backward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                       const ConstTensorView &out, const ConstTensorView &softmax_lse, const ConstTensorView &dout,
                       const Gradients &gradients, const ScoreOptions &options = {}, const Execution &execution = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_backward(&args, &execution);
}

// Joins attention over two disjoint sets of keys. out*: [batch, heads, seqlen_q, head_dim_v], lse*: [batch, heads,
// seqlen_q]. The outputs may be identical to one side's inputs.
inline Status merge(const ConstTensorView &out_a, const ConstTensorView &lse_a, const ConstTensorView &out_b,
                    const ConstTensorView &lse_b, const TensorView &out, const TensorView &lse,
                    const Execution &execution = {}) {
    const flashwright_merge_args args = {out_a.tensor(), lse_a.tensor(), out_b.tensor(),
                                         lse_b.tensor(), out.tensor(),   lse.tensor()};
    return flashwright_merge(&args, &execution);
}

// The running state of the online softmax: m and l [batch, heads, seqlen_q], acc [batch, heads, seqlen_q, head_dim_v].
template <typename View>
struct SoftmaxState {
    View m, l, acc;
};

// Takes the block `scores` [batch, heads, seqlen_q, block], `v` [batch, heads_kv, block, head_dim_v] into the state.
// `after` may be identical to `before`.
inline Status online_softmax_step(const SoftmaxState<ConstTensorView> &before, const ConstTensorView &scores,
                                  const ConstTensorView &v, const SoftmaxState<TensorView> &after,
                                  const Execution &execution = {}) {
    const flashwright_step_args args = {before.m.tensor(), before.l.tensor(), before.acc.tensor(), scores.tensor(),
                                        v.tensor(),        after.m.tensor(),  after.l.tensor(),    after.acc.tensor()};
    return flashwright_online_softmax_step(&args, &execution);
}

inline std::vector<flashwright_kernel_info> kernels() {
    std::vector<flashwright_kernel_info> list;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) list.push_back(flashwright_kernel(i));
    return list;
}

inline std::vector<flashwright_isa_info> isas() {
    std::vector<flashwright_isa_info> list;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) list.push_back(flashwright_isa(i));
    return list;
}

inline const char *version() { return flashwright_version(); }

}  // namespace flashwright
