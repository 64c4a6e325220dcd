/// @file
/// flashwright for C++17: views, optional options and statuses over the C interface of flashwright.h, where semantics
/// and limits are described. Header-only; nothing here throws, but kernels() and isas() where memory ends.
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

/// Each shared object calls the library it was linked with, though another may hold a function of the same name.
#if defined(__GNUC__)
#define FLASHWRIGHT_LOCAL __attribute__((visibility("hidden")))
#else
#define FLASHWRIGHT_LOCAL
#endif

/// The library's C++ layer.
namespace flashwright {

/// What a call returns: no outputs were written unless ok().
class Status {
 public:
    /// @param status What the C interface returned.
    Status(const flashwright_status &status) : status_(status) {}
    /// @return Whether all outputs are written.
    bool ok() const { return status_.code == FLASHWRIGHT_OK; }
    /// @return FLASHWRIGHT_OK, or what went wrong.
    flashwright_code code() const { return status_.code; }
    /// @return The argument, what was expected and what came, in one line; empty if ok().
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

/// A view of memory that is only read: [batch, heads, seqlen, head_dim] or less, the last axes. The memory must outlive
/// the calls that get the view. An axis count out of range is reported by the call.
class ConstTensorView {
 public:
    /// A tensor that is not given.
    ConstTensorView() = default;

    /// Contiguous: the last axis is dense, the others follow.
    /// @param data The element of indices 0; null where only shapes matter.
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
    /// @param data The element of indices 0; null where only shapes matter.
    /// @param shape Extents of 1 to 4 axes.
    /// @param strides In elements, as many; 0 and negative ones are fine.
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

/// The same of memory that is written.
class TensorView : public ConstTensorView {
 public:
    /// A tensor that is not given.
    TensorView() = default;

    /// Contiguous: the last axis is dense, the others follow.
    /// @param data The element of indices 0; null where only shapes matter.
    /// @param shape Extents of 1 to 4 axes.
    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape) : ConstTensorView(data, shape) {}

    /// With a stride for every axis.
    /// @param data The element of indices 0; null where only shapes matter.
    /// @param shape Extents of 1 to 4 axes.
    /// @param strides In elements, as many; they must keep the elements apart.
    template <typename T, typename = std::enable_if_t<!std::is_const_v<T>>>
    TensorView(T *data, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides)
        : ConstTensorView(data, shape, strides) {}

    /// @param tensor The same view in C.
    explicit TensorView(const flashwright_tensor &tensor) : ConstTensorView(tensor) {}
};

/// What scores go through, as flashwright_score_options, in this order: scale, soft cap, ALiBi and bias, what hides
/// keys. Every default is "not used". Views refer to memory that must outlive the call.
struct ScoreOptions {
    std::optional<double> softmax_scale;                  ///< Factor of the dot products; 1/sqrt(head_dim).
    bool causal = false;                                  ///< No key after the diagonal.
    flashwright_align align = FLASHWRIGHT_ALIGN_DEFAULT;  ///< Where the diagonal runs; top-left.
    std::optional<std::int64_t> diagonal;                 ///< Query i meets key i + diagonal; excludes align.
    std::optional<std::int64_t> window_left;              ///< Keys seen before the diagonal's; all.
    std::optional<std::int64_t> window_right;             ///< Keys seen after the diagonal's; all.
    std::optional<double> softcap;                        ///< c > 0: score becomes c * tanh(score / c).
    std::optional<ConstTensorView> key_lengths;           ///< int32_t [batch], 0 to seqlen_k: keys at and past it hide.
    std::optional<ConstTensorView> bias;          ///< Dtype of q, [batch|1, heads|1, seqlen_q|1, seqlen_k]: added.
    std::optional<ConstTensorView> mask;          ///< bool, shapes as bias: true is seen.
    std::optional<ConstTensorView> alibi_slopes;  ///< Dtype of q, [heads]: adds -slope * |key - diagonal's key|.

    /// @return The same for the C interface; refers to *this.
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

/// The fields of flashwright_execution, all at their defaults: threads, isa, kernel, key_block, thread pool, memory.
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
/// @return What flashwright_forward and flashwright_forward_choice take.
inline flashwright_forward_args to_c(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                     const TensorView &out, const TensorView &softmax_lse,
                                     const ScoreOptions &options) {
    return {q.tensor(), k.tensor(), v.tensor(), out.tensor(), softmax_lse.tensor(), options.to_c()};
}

/// out = softmax(score(q k^T)) v, and the logarithm of each row's sum; float or double, all alike.
/// @param q [batch, heads, seqlen_q, head_dim].
/// @param k [batch, heads_kv, seqlen_k, head_dim]; heads_kv divides heads.
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param[out] out [batch, heads, seqlen_q, head_dim_v].
/// @param[out] softmax_lse [batch, heads, seqlen_q], or {} if it is not wanted.
/// @param options What the scores go through.
/// @param execution How the call is carried out.
/// @return As flashwright_forward: FLASHWRIGHT_INVALID_ARGUMENT for shapes, dtypes or strides that do not fit, outputs
///     that overlap anything and options out of range; FLASHWRIGHT_UNSUPPORTED; FLASHWRIGHT_OUT_OF_MEMORY.
FLASHWRIGHT_LOCAL inline Status forward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                        const TensorView &out, const TensorView &softmax_lse = {},
                                        const ScoreOptions &options = {}, const Execution &execution = {}) {
    const flashwright_forward_args args = to_c(q, k, v, out, softmax_lse, options);
    return flashwright_forward(&args, &execution);
}

/// Where the gradients go.
struct Gradients {
    TensorView dq;     ///< Shape of q.
    TensorView dk;     ///< Shape of k; summed over the query heads of a group.
    TensorView dv;     ///< Shape of v; likewise.
    TensorView dbias;  ///< Shape of the bias; empty if it is not wanted.
};

/// The same for backward.
/// @param q As in backward.
/// @param k As in backward.
/// @param v As in backward.
/// @param out As in backward.
/// @param softmax_lse As in backward.
/// @param dout As in backward.
/// @param gradients As in backward.
/// @param options Must outlive the result.
/// @return What flashwright_backward and flashwright_backward_choice take.
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

/// The gradients by q, k, v (and the bias), as flashwright_backward states them.
/// @param q [batch, heads, seqlen_q, head_dim].
/// @param k [batch, heads_kv, seqlen_k, head_dim].
/// @param v [batch, heads_kv, seqlen_k, head_dim_v].
/// @param out What forward wrote, [batch, heads, seqlen_q, head_dim_v].
/// @param softmax_lse What forward wrote, [batch, heads, seqlen_q].
/// @param dout The gradient of out, in its shape.
/// @param[out] gradients Overwritten, not added to.
/// @param options What forward was given.
/// @param execution How the call is carried out.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status backward(const ConstTensorView &q, const ConstTensorView &k, const ConstTensorView &v,
                                         const ConstTensorView &out, const ConstTensorView &softmax_lse,
                                         const ConstTensorView &dout, const Gradients &gradients,
                                         const ScoreOptions &options = {}, const Execution &execution = {}) {
    const flashwright_backward_args args = to_c(q, k, v, out, softmax_lse, dout, gradients, options);
    return flashwright_backward(&args, &execution);
}

/// Joins attention over two disjoint sets of keys, exactly. The outputs may be identical to one side's inputs.
/// @param out_a [batch, heads, seqlen_q, head_dim_v].
/// @param lse_a [batch, heads, seqlen_q]; -inf: that row of a is ignored.
/// @param out_b As out_a.
/// @param lse_b As lse_a.
/// @param[out] out As out_a.
/// @param[out] lse As lse_a.
/// @param execution How the call is carried out.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status merge(const ConstTensorView &out_a, const ConstTensorView &lse_a,
                                      const ConstTensorView &out_b, const ConstTensorView &lse_b, const TensorView &out,
                                      const TensorView &lse, const Execution &execution = {}) {
    const flashwright_merge_args args = {out_a.tensor(), lse_a.tensor(), out_b.tensor(),
                                         lse_b.tensor(), out.tensor(),   lse.tensor()};
    return flashwright_merge(&args, &execution);
}

/// The running state of the online softmax, empty with m = -inf, l = 0, acc = 0.
template <typename View>
struct SoftmaxState {
    View m;    ///< Largest score so far, [batch, heads, seqlen_q].
    View l;    ///< Sum of exp(score - m), [batch, heads, seqlen_q].
    View acc;  ///< Sum of exp(score - m) v, [batch, heads, seqlen_q, head_dim_v].
};

/// Takes one block of keys into the state.
/// @param before The state so far.
/// @param scores [batch, heads, seqlen_q, block], scaled, in natural units; -inf hides.
/// @param v [batch, heads_kv, block, head_dim_v].
/// @param[out] after The new state; may be identical to `before`.
/// @param execution How the call is carried out.
/// @return As forward.
FLASHWRIGHT_LOCAL inline Status online_softmax_step(const SoftmaxState<ConstTensorView> &before,
                                                    const ConstTensorView &scores, const ConstTensorView &v,
                                                    const SoftmaxState<TensorView> &after,
                                                    const Execution &execution = {}) {
    const flashwright_step_args args = {before.m.tensor(), before.l.tensor(), before.acc.tensor(), scores.tensor(),
                                        v.tensor(),        after.m.tensor(),  after.l.tensor(),    after.acc.tensor()};
    return flashwright_online_softmax_step(&args, &execution);
}

/// @return Every kernel of this build.
FLASHWRIGHT_LOCAL inline std::vector<flashwright_kernel_info> kernels() {
    std::vector<flashwright_kernel_info> list;
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) list.push_back(flashwright_kernel(i));
    return list;
}

/// @return Every instruction set that this build has kernels for, best last.
FLASHWRIGHT_LOCAL inline std::vector<flashwright_isa_info> isas() {
    std::vector<flashwright_isa_info> list;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) list.push_back(flashwright_isa(i));
    return list;
}

/// @return The version of the library, as "0.1.0".
FLASHWRIGHT_LOCAL inline const char *version() { return flashwright_version(); }

}  // namespace flashwright
