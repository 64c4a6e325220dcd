/// @file
/// flashwright for C++17: views, options and statuses over the C interface. flashwright.h describes semantics and
/// limits. Header-only. Nothing here throws, except kernels() and isas() if memory runs out.
///
///     std::vector<float> q(2 * 8 * 128 * 64), …;
///     flashwright::ScoreOptions options;
///     options.causal = true;
///     auto status = flashwright::forward({q.data(), {2, 8, 128, 64}}, …, {out.data(), {2, 8, 128, 64}}, {}, options);
///     if (!status.ok()) std::cerr << status.message() << "\n";
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

/// Makes each shared object call the library it was linked with, even if another one has a function of the same name.
#if defined(__GNUC__)
#define FLASHWRIGHT_LOCAL __attribute__((visibility("hidden")))
#else
#define FLASHWRIGHT_LOCAL
#endif

/// The library's C++ layer.
namespace flashwright {

/// The result of a call. If it is not ok(), no output was written.
class Status {
 public:
    /// @param status A return value of the C interface.
    Status(const flashwright_status &status) : status_(status) {}
    /// @return Whether all outputs are written.
    bool ok() const { return status_.code == FLASHWRIGHT_OK; }
    /// @return FLASHWRIGHT_OK, or the kind of error.
    flashwright_code code() const { return status_.code; }
    /// @return One line: the argument, what was expected and what was given. Empty if ok().
    const char *message() const { return status_.message; }

 private:
    flashwright_status status_;
};

/// @return The element type of the C interface for float, double, bool and int32_t.
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

/// A view of memory that is only read: [batch, heads, seqlen, head_dim], or the last axes of it. The memory must
/// outlive the calls that use the view. The call reports a rank that is out of range.
class ConstTensorView {
 public:
    /// A tensor that is not given.
    ConstTensorView() = default;

    /// Contiguous, in row-major order.
    /// @param data The element with all indices 0; null if only the shape is used.
    /// @param shape Extents of 1 to 4 axes.
    template <typename T>
    ConstTensorView(const T *data, std::initializer_list<std::int64_t> shape) {
        set(const_cast<std::remove_const_t<T> *>(data), dtype_of<T>(), shape);
        std::uint64_t stride = 1;
        for (std::int32_t i = axes(); i-- > 0;) {
            tensor_.strides[i] = static_cast<std::int64_t>(stride);
            stride *= static_cast<std::uint64_t>(tensor_.shape[i]);
        }
    }

    /// With a stride for every axis.
    /// @param data The element with all indices 0; null if only the shape is used.
    /// @param shape Extents of 1 to 4 axes.
    /// @param strides In elements, one per axis; they may be 0 or negative.
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

    /// @param tensor The same view in C.
    explicit ConstTensorView(const flashwright_tensor &tensor) : tensor_(tensor) {}

    /// @return The same view for C.
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

/// A view of memory that is written.
class TensorView : public ConstTensorView {
 public:
    /// A tensor that is not given.
    TensorView() = default;

    /// Contiguous, in row-major order.
    /// @param data The element with all indices 0; null if only the shape is used.
    /// @param shape Extents of 1 to 4 axes.
    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape) : ConstTensorView(data, shape) {}

    /// With a stride for every axis.
    /// @param data The element with all indices 0; null if only the shape is used.
    /// @param shape Extents of 1 to 4 axes.
    /// @param strides In elements, one per axis; no two elements may overlap.
    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides)
        : ConstTensorView(data, shape, strides) {}

    /// @param tensor The same view in C.
    explicit TensorView(const flashwright_tensor &tensor) : ConstTensorView(tensor) {}
};

/// The score terms of flashwright_score_options, applied in this order: scale, soft cap, ALiBi and bias, masks. By
/// default none is used. The memory of the views must outlive the call.
struct ScoreOptions {
    std::optional<double> softmax_scale;                  ///< Factor of the dot products; default 1/sqrt(head_dim).
    bool causal = false;                                  ///< Masks keys after the diagonal.
    flashwright_align align = FLASHWRIGHT_ALIGN_DEFAULT;  ///< Position of the diagonal; top-left.
    std::optional<std::int64_t> diagonal;                 ///< Query i meets key i + diagonal; excludes align.
    std::optional<std::int64_t> window_left;              ///< Unmasked keys before the diagonal; no limit.
    std::optional<std::int64_t> window_right;             ///< Unmasked keys after the diagonal; no limit.
    std::optional<double> softcap;                        ///< c > 0: a score becomes c * tanh(score / c).
    std::optional<ConstTensorView> key_lengths;           ///< int32_t [batch], 0 to seqlen_k: number of keys.
    std::optional<ConstTensorView> bias;          ///< Dtype of q, [batch|1, heads|1, seqlen_q|1, seqlen_k]: added.
    std::optional<ConstTensorView> mask;          ///< bool, shapes as bias: false masks a key.
    std::optional<ConstTensorView> alibi_slopes;  ///< Dtype of q, [heads]: adds -slope * |key - key of the diagonal|.

    /// @return The same for the C interface. It refers to *this.
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

/// flashwright_execution with all members at their defaults: threads, isa, kernel, key_block, thread pool, memory, and
/// the output kernel_used.
struct Execution : flashwright_execution {
    /// All defaults.
    Execution() : flashwright_execution{} {}
};

/// The arguments of forward for the C interface.
/// @param q As in forward.
/// @param k As in forward.
/// @param v As in forward.
/// @param out As in forward.
/// @param softmax_lse As in forward.
/// @param options Must outlive the result.
/// @return Arguments for flashwright_forward and flashwright_forward_choice.
inline flashwright_forward_args to_c(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                     const TensorView &out, const TensorView &softmax_lse,
                                     const ScoreOptions &options) {
    return {q.tensor(), k.tensor(), v.tensor(), out.tensor(), softmax_lse.tensor(), options.to_c()};
}

/// out = softmax(score(q k^T)) v, and softmax_lse. All tensors are float, or all are double.
/// @param q [batch, heads, seqlen_q, head_dim].
/// @param k [batch, heads_kv, seqlen_k, head_dim]; heads_kv divides heads.
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param[out] out [batch, heads, seqlen_q, head_dim_v].
/// @param[out] softmax_lse [batch, heads, seqlen_q], or {} if not wanted.
/// @param options Score terms and masks.
/// @param execution How the call runs.
/// @return As flashwright_forward: FLASHWRIGHT_INVALID_ARGUMENT for shapes, dtypes or strides that do not match,
/// outputs
///     that overlap another tensor, and options out of range; FLASHWRIGHT_UNSUPPORTED; FLASHWRIGHT_OUT_OF_MEMORY.
FLASHWRIGHT_LOCAL inline Status forward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                        const TensorView &out, const TensorView &softmax_lse = {},
                                        const ScoreOptions &options = {}, const Execution &execution = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_forward(&args, &execution);
}

/// The outputs of backward.
struct Gradients {
    TensorView dq;     ///< Shape of q.
    TensorView dk;     ///< Shape of k; summed over the query heads that share a key head.
    TensorView dv;     ///< Shape of v; summed as dk.
    TensorView dbias;  ///< Shape of the bias; empty if not wanted.
};

/// The arguments of backward for the C interface.
/// @param q As in backward.
/// @param k As in backward.
/// @param v As in backward.
/// @param out As in backward.
/// @param softmax_lse As in backward.
/// @param dout As in backward.
/// @param gradients As in backward.
/// @param options Must outlive the result.
/// @return Arguments for flashwright_backward and flashwright_backward_choice.
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

/// The gradients with respect to q, k, v and the bias; flashwright_backward has the formulas.
/// @param q [batch, heads, seqlen_q, head_dim].
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param out Output of forward, [batch, heads, seqlen_q, head_dim_v].
/// @param softmax_lse Output of forward, [batch, heads, seqlen_q].
/// @param dout The gradient of out, in its shape.
/// @param[out] gradients Overwritten, not added to.
/// @param options The same as in forward.
/// @param execution How the call runs.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status backward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                         const ConstTensorView &out, const ConstTensorView &softmax_lse,
                                         const ConstTensorView &dout, const Gradients &gradients,
                                         const ScoreOptions &options = {}, const Execution &execution = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_backward(&args, &execution);
}

/// Merges attention results over two disjoint sets of keys, exactly. The outputs may be identical to the inputs of one
/// side.
/// @param out_a [batch, heads, seqlen_q, head_dim_v].
/// @param lse_a [batch, heads, seqlen_q]. -inf: the row of a is ignored.
/// @param out_b As out_a.
/// @param lse_b As lse_a.
/// @param[out] out As out_a.
/// @param[out] lse As lse_a.
/// @param execution How the call runs.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status merge(const ConstTensorView &out_a, const ConstTensorView &lse_a,
                                      const ConstTensorView &out_b, const ConstTensorView &lse_b, const TensorView &out,
                                      const TensorView &lse, const Execution &execution = {}) {
    const flashwright_merge_args args = {out_a.tensor(), lse_a.tensor(), out_b.tensor(),
                                         lse_b.tensor(), out.tensor(),   lse.tensor()};
    return flashwright_merge(&args, &execution);
}

/// The state of the online softmax. The initial state is m = -inf, l = 0, acc = 0.
template <typename View>
struct SoftmaxState {
    View m;    ///< Largest score so far, [batch, heads, seqlen_q].
    View l;    ///< Sum of exp(score - m), [batch, heads, seqlen_q].
    View acc;  ///< Sum of exp(score - m) v, [batch, heads, seqlen_q, head_dim_v].
};

/// Updates the state with one block of keys.
/// @param before The state so far.
/// @param scores [batch, heads, seqlen_q, block], scaled, in natural units; -inf masks a key.
/// @param v [batch, heads_kv, block, head_dim_v].
/// @param[out] after The new state; may be identical to `before`.
/// @param execution How the call runs.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status online_softmax_step(const SoftmaxState<ConstTensorView> &before,
                                                    const ConstTensorView &scores, const ConstTensorView &v,
                                                    const SoftmaxState<TensorView> &after,
                                                    const Execution &execution = {}) {
    const flashwright_step_args args = {before.m.tensor(), before.l.tensor(), before.acc.tensor(), scores.tensor(),
                                        v.tensor(),        after.m.tensor(),  after.l.tensor(),    after.acc.tensor()};
    return flashwright_online_softmax_step(&args, &execution);
}

/// @return All kernels of this build.
FLASHWRIGHT_LOCAL inline std::vector<flashwright_kernel_info> kernels() {
    std::vector<flashwright_kernel_info> list;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) list.push_back(flashwright_kernel(i));
    return list;
}

/// @return Every instruction set for which this build has kernels. The best is the last.
FLASHWRIGHT_LOCAL inline std::vector<flashwright_isa_info> isas() {
    std::vector<flashwright_isa_info> list;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) list.push_back(flashwright_isa(i));
    return list;
}

/// @return The version of the library, for example "0.1.0".
FLASHWRIGHT_LOCAL inline const char *version() { return flashwright_version(); }

}  // namespace flashwright
