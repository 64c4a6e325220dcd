// The device memory of a call on a stream besides the caller's tensors: one allocation, freed in the order of the
// stream, and copies between it and the caller's tensors. The stream's context is current for as long as the object
// lives.
#pragma once

#include "flashwright/flashwright.h"

#include "device_tensor.h"
#include "gpu_kernels.h"

namespace flashwright {

// Fails with UNSUPPORTED if the copy kernels could not index the tensor.
flashwright_status check_device_strides(const StridedTensor &view);

class StreamMemory {
 public:
    // `call` is the user_context.
    StreamMemory(const GpuDevice &device, void *call) : device_(device), call_(call) {}
    StreamMemory(const StreamMemory &) = delete;
    StreamMemory &operator=(const StreamMemory &) = delete;
    ~StreamMemory();

    // Makes the context current; to be called first. This and what follows return Halide's error codes.
    int enter();
    // Registers a tensor for `allocate`.
    void add(DeviceTensor *tensor);
    // Allocates and places the registered tensors, and copies those with host memory to the device. Fails for more than
    // kTensors.
    int allocate();
    // Places the tensor at the memory of the caller's.
    int place(DeviceTensor *tensor, const StridedTensor &view);
    // Rows from `rows`[batch entry] on become zeros, and so do channels that `from` lacks. `layout` is that of `from`
    // if it is a result of forward in f32.
    int copy(const StridedTensor &from, const StridedTensor &to, DeviceTensor *rows,
             const ResultLayout<int> &layout = {1, 1, 0});

 private:
    static constexpr int kTensors = 24;

    int send(std::size_t bytes);

    const GpuDevice &device_;
    void *call_;
    bool entered_ = false;
    std::uint64_t address_ = 0;
    DeviceTensor *tensors_[kTensors] = {};
    int count_ = 0;
};

}  // namespace flashwright
