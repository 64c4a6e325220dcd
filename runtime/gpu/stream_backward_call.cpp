#include "stream_backward_call.h"

#include <algorithm>

#include "device_view.h"
#include "runtime/src/status.h"
#include "runtime/src/tile_plan.h"

namespace flashwright {
namespace {

// The channels of a tensor from `begin` on.
StridedTensor channels(StridedTensor view, std::int64_t begin, std::int64_t count) {
    view.data += begin * view.strides[kChannel] * view.element_size;
    view.shape[kChannel] = count;
    return view;
}

// The f32 columns after the operands in a row or a key.
StridedTensor columns(const StridedTensor &side, std::int64_t head_dim) {
    StridedTensor view = channels(side, 2 * head_dim, kColumns);
    for (const Axis axis : {kBatch, kHead, kRow}) {
        view.strides[axis] = view.strides[axis] * view.element_size / static_cast<std::int64_t>(sizeof(float));
    }
    view.element_size = sizeof(float);
    return view;
}

}  // namespace

StreamBackwardCall::StreamBackwardCall(const BackwardProblem &problem, const GpuBackwardKernel &kernel,
                                       const GpuDevice &device, void *context)
    : problem_(problem),
      p_(problem.forward),
      kernel_(kernel),
      device_(device),
      context_(context),
      memory_(device, context),
      t_(problem, kernel, context),
      key_lo_(context),
      key_hi_(context),
      row_lo_(context),
      row_hi_(context),
      row_count_(context),
      key_count_(context),
      diagonal_(context),
      alibi_slopes_(context),
      terms_(context) {}

flashwright_status StreamBackwardCall::prepare() {
    flashwright_status status = ok_status();
    for (const StridedTensor *view : {&p_.q, &p_.k, &p_.v, &p_.out, &p_.lse, &problem_.dout, &problem_.dq, &problem_.dk,
                                      &problem_.dv, &problem_.dbias, &p_.bias(), &p_.mask()}) {
        if (!failed(status)) status = check_device_strides(*view);
    }
    if (!failed(status)) status = t_.prepare();
    if (!failed(status)) {
        status = terms_.describe("q", halide_type_of<std::int32_t>(), {t_.rows(), p_.heads, p_.batch, 4});
    }
    return failed(status) ? status : fill_ranges();
}

flashwright_status StreamBackwardCall::fill_ranges() {
    flashwright_status status = ok_status();
    for (DeviceTensor *tensor : {&key_lo_, &key_hi_, &row_lo_, &row_hi_, &row_count_, &key_count_, &diagonal_}) {
        if (!failed(status)) status = tensor->allocate("key_lengths", halide_type_of<std::int32_t>(), {p_.batch});
    }
    if (!failed(status)) status = alibi_slopes_.allocate("alibi_slopes", halide_type_of<float>(), {p_.heads});
    if (failed(status)) return status;
    const auto set = [](const DeviceTensor &tensor, std::int64_t b, std::int64_t value) {
        tensor.data<std::int32_t>()[b] = static_cast<std::int32_t>(value);
    };
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        const KeyRange range = key_range(p_, b);
        set(key_lo_, b, range.lo_offset);
        set(key_hi_, b, range.hi_offset);
        set(row_lo_, b, -range.hi_offset);
        set(row_hi_, b, -range.lo_offset);
        set(row_count_, b, p_.seqlen_q);
        set(key_count_, b, range.key_count);
        set(diagonal_, b, cut_offset(p_.diagonal_of(b)));
    }
    pack_slopes(p_, alibi_slopes_);
    return status;
}

int StreamBackwardCall::launch() {
    int result = memory_.enter();
    if (result == halide_error_code_success) result = provide();
    if (result == halide_error_code_success) result = copy_inputs();
    if (result == halide_error_code_success) result = describe();
    if (result != halide_error_code_success) return result;
    t_.merge();
    result = t_.launch();
    return result == halide_error_code_success ? copy_outputs() : result;
}

int StreamBackwardCall::provide() {
    for (DeviceTensor *tensor : {&t_.query_rows, &t_.key_rows, &t_.bias, &t_.mask, &key_lo_, &key_hi_, &row_lo_,
                                 &row_hi_, &row_count_, &key_count_, &diagonal_, &alibi_slopes_}) {
        memory_.add(tensor);
    }
    if (kernel_.terms != 0) memory_.add(&terms_);
    for (int n = 0; n < t_.pass_count; ++n) {
        memory_.add(&t_.passes[n].plan);
        memory_.add(&t_.passes[n].result);
    }
    int result = memory_.allocate();
    if (kernel_.terms == 0) return result;
    StridedTensor quantity = terms_.on_device();
    for (DeviceTensor *tensor : {&t_.slope, &t_.diagonal_key, &t_.bias_offset, &t_.mask_offset}) {
        if (result == halide_error_code_success) result = memory_.place(tensor, quantity);
        quantity.data += quantity.strides[kBatch] * quantity.element_size;
    }
    return result;
}

int StreamBackwardCall::copy_inputs() {
    const std::int64_t head_dim = kernel_.head_dim;
    const StridedTensor rows = t_.query_rows.on_device(), keys = t_.key_rows.on_device();
    const struct {
        const StridedTensor &from;
        const StridedTensor to;
        DeviceTensor *count;
    } copies[] = {{p_.q, channels(rows, 0, head_dim), &row_count_},
                  {problem_.dout, channels(rows, head_dim, head_dim), &row_count_},
                  {p_.k, channels(keys, 0, head_dim), &key_count_},
                  {p_.v, channels(keys, head_dim, head_dim), &key_count_},
                  {p_.bias(), t_.bias.on_device(), &row_count_},
                  {p_.mask(), t_.mask.on_device(), &row_count_}};
    for (const auto &[from, to, count] : copies) {
        if (!from.given) continue;
        if (const int result = memory_.copy(from, to, count); result != halide_error_code_success) return result;
    }
    return halide_error_code_success;
}

// Computes the arguments of the passes besides the tensors.
int StreamBackwardCall::describe() {
    const std::int64_t head_dim = kernel_.head_dim;
    DeviceView lse(device_, context_, p_.lse), out(device_, context_, p_.out), dout(device_, context_, problem_.dout);
    DeviceView rows(device_, context_, columns(t_.query_rows.on_device(), head_dim));
    DeviceView keys(device_, context_, columns(t_.key_rows.on_device(), head_dim));
    for (const DeviceView *view : {&lse, &out, &dout, &rows, &keys}) {
        if (view->error() != halide_error_code_success) return view->error();
    }
    const GpuStreamKernels &kernels = device_.stream_kernels;
    const auto columns_of_rows = halves() ? kernels.columns_of_rows_f16 : kernels.columns_of_rows;
    int result = columns_of_rows(context_, key_lo_.input(), key_hi_.input(), row_count_.input(), key_count_.input(),
                                 lse.buffer(), out.buffer(), dout.buffer(), rows.buffer());
    if (result != halide_error_code_success) return result;
    result = kernels.columns_of_keys(context_, row_lo_.input(), row_hi_.input(), key_count_.input(), row_count_.input(),
                                     lse.buffer(), lse.buffer(), lse.buffer(), keys.buffer());
    if (result != halide_error_code_success || kernel_.terms == 0) return result;
    const auto stride = [](const DeviceTensor &tensor, int axis) {
        return static_cast<std::int32_t>(tensor.stride(axis));
    };
    return kernels.terms(context_, alibi_slopes_.input(), diagonal_.input(), row_count_.input(),
                         static_cast<std::int32_t>(t_.keys()), static_cast<std::int32_t>(p_.heads_kv),
                         stride(t_.bias, 1), stride(t_.bias, 2), stride(t_.bias, 3), stride(t_.mask, 1),
                         stride(t_.mask, 2), stride(t_.mask, 3), terms_.output());
}

int StreamBackwardCall::copy_outputs() {
    for (int n = 0; n < t_.pass_count; ++n) {
        if (const int result = copy_result(t_.passes[n]); result != halide_error_code_success) return result;
    }
    return halide_error_code_success;
}

int StreamBackwardCall::copy_result(const GpuBackwardTensors::Pass &of) {
    const GpuBackwardKernel::Pass &pass = *of.pass;
    if (pass.dbias) return sum_bias_gradient(of.result);
    if (!pass.owns_keys) return copy_gradient(of.result, 0, t_.rows(), problem_.dq, &row_count_);
    if (pass.dk) {
        const int result = copy_gradient(of.result, 0, t_.keys(), problem_.dk, &key_count_);
        if (result != halide_error_code_success || !pass.dv) return result;
    }
    return copy_gradient(of.result, pass.dk ? 1 : 0, t_.keys(), problem_.dv, &key_count_);
}

// Sums over the axes that the bias broadcasts.
int StreamBackwardCall::sum_bias_gradient(const DeviceTensor &scores) {
    const StridedTensor &bias = problem_.dbias;
    StridedTensor pairs = scores.on_device();
    const std::int64_t shape[] = {p_.batch, p_.heads, p_.seqlen_q, p_.seqlen_k}, keys = t_.keys();
    const std::int64_t strides[] = {p_.heads * t_.rows() * keys, t_.rows() * keys, keys, 1};
    std::copy_n(shape, 4, pairs.shape);
    std::copy_n(strides, 4, pairs.strides);
    DeviceView from(device_, context_, pairs), to(device_, context_, bias);
    for (const DeviceView *view : {&from, &to}) {
        if (view->error() != halide_error_code_success) return view->error();
    }
    const auto summed = [&](Axis axis) {
        return static_cast<std::int32_t>(bias.shape[axis] == 1 ? pairs.shape[axis] : 1);
    };
    const GpuStreamKernels &kernels = device_.stream_kernels;
    return (halves() ? kernels.bias_gradient_f16 : kernels.bias_gradient)(context_, from.buffer(), summed(kRow),
                                                                          summed(kHead), summed(kBatch), to.buffer());
}

// The result has `padded_rows` rows for each head, one head after the other. Keys past an entry's length have a
// gradient of 0.
int StreamBackwardCall::copy_gradient(const DeviceTensor &result, std::int64_t gradient, std::int64_t padded_rows,
                                      const StridedTensor &to, DeviceTensor *rows) {
    StridedTensor from = to;
    const std::int64_t row = result.stride(2), heads = to.shape[kHead];
    const std::int64_t strides[] = {heads * padded_rows * row, padded_rows * row, row, 1};
    std::copy_n(strides, 4, from.strides);
    from.shape[kChannel] = kernel_.head_dim;
    from.data = result.on_device().data + gradient * result.stride(1) * from.element_size;
    return memory_.copy(from, to, rows);
}

}  // namespace flashwright
