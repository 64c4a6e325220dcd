// A tensor in device memory as Halide takes it.
#pragma once

#include "HalideRuntime.h"
#include "device_problem.h"
#include "runtime/src/tensor_view.h"

namespace flashwright {

class DeviceView {
 public:
    // `call` is the user_context. f32, f16 or bytes; check_device_strides must have passed.
    DeviceView(const GpuDevice &device, void *call, const StridedTensor &view) : call_(call) {
        buffer_.type = view.element_size == 1   ? halide_type_of<std::uint8_t>()
                       : view.element_size == 2 ? storage_type(FLASHWRIGHT_F16)
                                                : halide_type_of<float>();
        buffer_.dimensions = 4;
        buffer_.dim = dimensions_;
        for (int axis = kBatch; axis <= kChannel; ++axis) {
            dimensions_[kChannel - axis] = {0, static_cast<std::int32_t>(view.shape[axis]),
                                            static_cast<std::int32_t>(view.strides[axis]), 0};
        }
        error_ =
            halide_device_wrap_native(call, &buffer_, reinterpret_cast<std::uint64_t>(view.data), device.interface());
    }
    DeviceView(const DeviceView &) = delete;
    DeviceView &operator=(const DeviceView &) = delete;
    ~DeviceView() { halide_device_detach_native(call_, &buffer_); }

    int error() const { return error_; }  // Halide's code
    halide_buffer_t *buffer() { return &buffer_; }

 private:
    void *call_;
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[4];
    int error_;
};

}  // namespace flashwright
