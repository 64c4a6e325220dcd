// Dense copies of tensors for the kernels of a GPU: in host memory, and on the device for as long as the object lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <memory>

#include "HalideRuntime.h"
#include "runtime/src/tensor_view.h"

namespace flashwright {

// Elements of a tensor on a device, at most: kernels index them with 32 bits.
inline constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

// [channel, row, head, batch]; fewer dimensions leave the last ones out.
class DeviceTensor {
 public:
    // `context` is the user_context of the call.
    explicit DeviceTensor(void *context) : context_(context) {}
    DeviceTensor(const DeviceTensor &) = delete;
    DeviceTensor &operator=(const DeviceTensor &) = delete;
    ~DeviceTensor();

    // Without memory. An axis whose bit is set in `repeated` holds one element for all. Fails where indices would not
    // fit 32 bits; `name` is for messages.
    flashwright_status describe(const char *name, halide_type_t type, std::initializer_list<std::int64_t> extents,
                                unsigned repeated = 0);
    // Zeros in host memory, of which there may be more than described.
    flashwright_status allocate();
    flashwright_status allocate(const char *name, halide_type_t type, std::initializer_list<std::int64_t> extents,
                                unsigned repeated = 0);

    // Its host memory, or NULL.
    const char *host() const { return memory_.get(); }
    // Of its memory, whole vectors.
    std::size_t bytes() const;
    // Places it in memory of the device that somebody else owns. Halide's error code.
    int place(std::uint64_t address, const halide_device_interface_t *device);
    // What is on the device, as tensors of callers are; an axis that is repeated has extent 1.
    StridedTensor on_device() const;

    // Makes one axis of those from `first` on; an axis that is repeated counts once.
    void merge_axes(int first);

    template <typename T>
    T *data() const {
        return reinterpret_cast<T *>(memory_.get());
    }
    std::int64_t extent(int axis) const { return dimensions_[axis].extent; }
    // Elements from one index of an axis to the next.
    std::int64_t stride(int axis) const { return dimensions_[axis].stride; }

    // What a kernel takes: an input, whose content the first one that takes it sends to the device, and an output,
    // which `fetch` brings back.
    halide_buffer_t *input();
    halide_buffer_t *output() { return &buffer_; }
    int fetch() { return halide_copy_to_host(context_, &buffer_); }
    // Until the kernels that were launched are done.
    int wait() { return halide_device_sync(context_, &buffer_); }

 private:
    struct Free {
        void operator()(char *memory) const { std::free(memory); }
    };

    // The outermost axis, to a size that every backend takes.
    flashwright_status grow();

    void *context_;
    const char *name_ = "";
    bool placed_ = false;
    std::int64_t elements_ = 0;
    int outermost_ = 0;  // axis of those that are stored
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[4];
    std::unique_ptr<char, Free> memory_;
};

}  // namespace flashwright
