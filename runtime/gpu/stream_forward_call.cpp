#include "stream_forward_call.h"

#include <algorithm>

#include "runtime/src/status.h"

namespace flashwright {

flashwright_status StreamForwardCall::prepare() {
    flashwright_status status = ok_status();
    for (const StridedTensor *view : {&p_.q, &p_.k, &p_.v, &p_.out, &p_.lse, &p_.bias(), &p_.mask()}) {
        if (!failed(status)) status = check_device_strides(*view);
    }
    if (!failed(status)) status = tensors_.prepare();
    if (!failed(status)) status = row_count_.allocate("q", halide_type_of<std::int32_t>(), {p_.batch});
    if (failed(status)) return status;
    std::fill_n(row_count_.data<std::int32_t>(), p_.batch, static_cast<std::int32_t>(p_.seqlen_q));
    return status;
}

int StreamForwardCall::launch() {
    int result = memory_.enter();
    if (result == halide_error_code_success) result = provide();
    if (result == halide_error_code_success) result = copy_inputs();
    if (result == halide_error_code_success) result = tensors_.launch();
    return result == halide_error_code_success ? copy_outputs() : result;
}

// Whether the kernel can read the caller's tensor itself: it is dense, has whole tiles, is aligned for loads of 16
// bytes, and all its keys exist.
bool StreamForwardCall::in_place(const StridedTensor &view, const DeviceTensor &padded, bool of_keys) const {
    if (reinterpret_cast<std::uintptr_t>(view.data) % 16 != 0) return false;
    for (int axis = kBatch; axis <= kChannel; ++axis) {
        const std::int64_t extent = padded.extent(kChannel - axis);
        if (view.shape[axis] != extent || (extent > 1 && view.strides[axis] != padded.stride(kChannel - axis))) {
            return false;
        }
    }
    for (std::int64_t b = 0; of_keys && b < p_.batch; ++b) {
        if (p_.key_count(b) != p_.seqlen_k) return false;
    }
    return true;
}

// Provides memory for the tensors that are not read in place.
int StreamForwardCall::provide() {
    GpuForwardTensors &t = tensors_;
    int result = halide_error_code_success;
    for (const auto &[view, tensor] : inputs()) {
        if (!in_place(*view, *tensor, tensor != &t.q)) {
            memory_.add(tensor);
        } else if (result == halide_error_code_success) {
            result = memory_.place(tensor, *view);
        }
    }
    for (DeviceTensor *tensor : {&t.bias, &t.mask, &t.result, &t.slopes, &t.lo_offset, &t.hi_offset, &t.diagonal,
                                 &t.key_count, &t.plan, &row_count_}) {
        memory_.add(tensor);
    }
    return result == halide_error_code_success ? memory_.allocate() : result;
}

int StreamForwardCall::copy_inputs() {
    GpuForwardTensors &t = tensors_;
    int result = halide_error_code_success;
    for (const auto &[view, tensor] : inputs()) {
        const StridedTensor to = tensor->on_device();
        const bool is_there = to.data == view->data;
        if (result != halide_error_code_success || is_there) continue;
        result = memory_.copy(*view, to, tensor == &t.q ? &row_count_ : &t.key_count);
    }
    for (const auto &[view, tensor] : {std::pair{&p_.bias(), &t.bias}, {&p_.mask(), &t.mask}}) {
        if (result != halide_error_code_success || !view->given) continue;
        result = memory_.copy(*view, tensor->on_device(), &row_count_);
    }
    return result;
}

int StreamForwardCall::copy_outputs() {
    StridedTensor from = tensors_.result.on_device();
    const GpuTiles &tiles = kernel_.tiles;
    const int result =
        memory_.copy(from, p_.out, &row_count_, tiles.result_layout(static_cast<int>(from.element_size)));
    if (result != halide_error_code_success || !p_.lse.given) return result;
    from.data += tiles.channels_per_thread() * from.element_size;
    from.shape[kChannel] = 1;
    for (std::int64_t &stride : from.strides) stride = stride * from.element_size / p_.lse.element_size;
    from.element_size = p_.lse.element_size;
    return memory_.copy(from, p_.lse, &row_count_);
}

}  // namespace flashwright
