// Dense copies of tensors for GPU kernels, in host memory and on the device. The object owns both.
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

// The most elements of a tensor on a device: kernels index them with 32 bits.
inline constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

// Dimensions are [channel, row, head, batch]; a tensor with fewer lacks the last ones.
class DeviceTensor {
 public:
    // `context` is the user_context of the call.
    explicit DeviceTensor(void *context) : context_(context) {}
    DeviceTensor(const DeviceTensor &) = delete;
    DeviceTensor &operator=(const DeviceTensor &) = delete;
    ~DeviceTensor();

    // Sets sizes without memory. An axis whose bit is set in `repeated` is broadcast and stored once. Fails if indices
    // would not fit 32 bits. `name` is for messages.
    flashwright_status describe(const char *name, halide_type_t type, std::initializer_list<std::int64_t> extents,
                                unsigned repeated = 0);
    // Allocates host memory, filled with zeros. There may be more elements than described.
    flashwright_status allocate();
    flashwright_status allocate(const char *name, halide_type_t type, std::initializer_list<std::int64_t> extents,
                                unsigned repeated = 0);

    // Host memory, or NULL.
    const char *host() const { return memory_.get(); }
    // The size of its memory, rounded up to whole vectors.
    std::size_t bytes() const;
    // Places the tensor in device memory that it does not own. Returns Halide's error code.
    int place(std::uint64_t address, const halide_device_interface_t *device);
    // The tensor in device memory, in the form of callers' tensors. An axis that is broadcast has extent 1.
    StridedTensor on_device() const;

    // Merges the axes from `first` on into one. An axis that is broadcast counts once.
    void merge_axes(int first);

    template <typename T>
    T *data() const {
        return reinterpret_cast<T *>(memory_.get());
    }
    std::int64_t extent(int axis) const { return dimensions_[axis].extent; }
    // Elements from one index of an axis to the next.
    std::int64_t stride(int axis) const { return dimensions_[axis].stride; }

    // Arguments of kernels. The first kernel that takes an input copies it to the device. `fetch` copies an output to
    // the host.
    halide_buffer_t *input();
    halide_buffer_t *output() { return &buffer_; }
    int fetch() { return halide_copy_to_host(context_, &buffer_); }
    // Waits for the kernels that were launched.
    int wait() { return halide_device_sync(context_, &buffer_); }

 private:
    struct Free {
        void operator()(char *memory) const { std::free(memory); }
    };

    // Enlarges the outermost axis to a size that every backend takes.
    flashwright_status grow();

    void *context_;
    const char *name_ = "";
    bool placed_ = false;
    std::int64_t elements_ = 0;
    int outermost_ = 0;  // axis that is stored
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[4];
    std::unique_ptr<char, Free> memory_;
};

}  // namespace flashwright
