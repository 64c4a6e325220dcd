#include "device_tensor.h"

#include <cinttypes>
#include <cstring>
#include <numeric>

#include "runtime/src/status.h"

namespace flashwright {
namespace {

constexpr std::size_t kAlignment = 64;  // at least that of a kernel's widest load
// Bytes. HL_VK_ALLOC_CONFIG in device.cpp does not affect all of Halide's allocations for Vulkan. The others have the
// size of their tensor, so that size must be a multiple of the device's alignment.
constexpr std::int64_t kSizeMultiple = 256;

flashwright_status too_large(const char *name) {
    return make_status(FLASHWRIGHT_UNSUPPORTED, "%s: expected less than 2^31 elements, padded to whole tiles, got more",
                       name);
}

}  // namespace

DeviceTensor::~DeviceTensor() {
    if (placed_) {
        halide_device_detach_native(context_, &buffer_);
    } else if (buffer_.device != 0) {
        halide_device_free(context_, &buffer_);
    }
}

flashwright_status DeviceTensor::allocate(const char *name, halide_type_t type,
                                          std::initializer_list<std::int64_t> extents, unsigned repeated) {
    const flashwright_status status = describe(name, type, extents, repeated);
    return failed(status) ? status : allocate();
}

flashwright_status DeviceTensor::describe(const char *name, halide_type_t type,
                                          std::initializer_list<std::int64_t> extents, unsigned repeated) {
    std::int64_t elements = 1;
    int axis = 0, outermost = 0;  // the outermost axis that is stored
    for (const std::int64_t extent : extents) {
        const bool once = (repeated >> axis & 1U) != 0;
        if (extent > kMostElements || (!once && elements > kMostElements / extent)) {
            return too_large(name);
        }
        dimensions_[axis] = {0, static_cast<std::int32_t>(extent), once ? 0 : static_cast<std::int32_t>(elements), 0};
        if (!once) {
            elements *= extent;
            outermost = axis;
        }
        ++axis;
    }
    name_ = name;
    elements_ = elements;
    outermost_ = outermost;
    buffer_.type = type;
    buffer_.dimensions = axis;
    buffer_.dim = dimensions_;
    return ok_status();
}

std::size_t DeviceTensor::bytes() const {
    const std::size_t bytes = static_cast<std::size_t>(elements_) * static_cast<std::size_t>(buffer_.type.bytes());
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

flashwright_status DeviceTensor::grow() {
    halide_dimension_t &last = dimensions_[outermost_];
    const std::int64_t step = kSizeMultiple / std::gcd(kSizeMultiple, std::int64_t{last.stride} * buffer_.type.bytes());
    const std::int64_t extent = (last.extent + step - 1) / step * step;
    if (elements_ / last.extent > kMostElements / extent) return too_large(name_);
    last.extent = static_cast<std::int32_t>(extent);
    elements_ = extent * last.stride;
    return ok_status();
}

flashwright_status DeviceTensor::allocate() {
    if (const flashwright_status status = grow(); failed(status)) return status;
    memory_.reset(static_cast<char *>(std::aligned_alloc(kAlignment, bytes())));
    if (memory_ == nullptr) {
        return make_status(FLASHWRIGHT_OUT_OF_MEMORY, "%s: expected %zu bytes of host memory for a copy, got none",
                           name_, bytes());
    }
    std::memset(memory_.get(), 0, bytes());
    buffer_.host = reinterpret_cast<std::uint8_t *>(memory_.get());
    return ok_status();
}

int DeviceTensor::place(std::uint64_t address, const halide_device_interface_t *device) {
    const int result = halide_device_wrap_native(context_, &buffer_, address, device);
    placed_ = result == halide_error_code_success;
    return result;
}

StridedTensor DeviceTensor::on_device() const {
    StridedTensor view;
    view.name = name_;
    view.given = true;
    view.data = reinterpret_cast<char *>(buffer_.device);
    view.element_size = buffer_.type.bytes();
    for (int axis = 0; axis < buffer_.dimensions; ++axis) {
        const halide_dimension_t &dimension = dimensions_[axis];
        view.shape[kChannel - axis] = dimension.stride == 0 ? 1 : dimension.extent;
        view.strides[kChannel - axis] = dimension.stride;
    }
    return view;
}

void DeviceTensor::merge_axes(int first) {
    std::int64_t stored = 1;
    for (int axis = first; axis < buffer_.dimensions; ++axis) {
        if (dimensions_[axis].stride != 0) stored *= dimensions_[axis].extent;
    }
    const std::int64_t before =
        first == 0 ? 1 : std::int64_t{dimensions_[first - 1].stride} * dimensions_[first - 1].extent;
    dimensions_[first] = {0, static_cast<std::int32_t>(stored), static_cast<std::int32_t>(before), 0};
    buffer_.dimensions = first + 1;
}

halide_buffer_t *DeviceTensor::input() {
    if (buffer_.device == 0) buffer_.set_host_dirty();
    return &buffer_;
}

}  // namespace flashwright
