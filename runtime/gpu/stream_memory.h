// What a call on a stream has in device memory beside the caller's tensors: one allocation, given back in the stream's
// order, and copies between it and the caller's tensors. The stream's context is current meanwhile.
#pragma once

#include "flashwright/flashwright.h"

#include "device_tensor.h"
#include "gpu_kernels.h"

namespace flashwright {

// UNSUPPORTED if the copies could not index the tensor.
flashwright_status check_device_strides(const StridedTensor &view);

class StreamMemory {
 public:
    // `call` is the user_context.
    StreamMemory(const GpuDevice &device, void *call) : device_(device), call_(call) {}
    StreamMemory(const StreamMemory &) = delete;
    StreamMemory &operator=(const StreamMemory &) = delete;
    ~StreamMemory();

    // First of all. Results are Halide's error codes.
    int enter();
    // To be placed.
    void add(DeviceTensor *tensor);
    // Places what was added, and sends what those hold that have host memory; fails if that was more than kTensors.
    int allocate();
    // Places the tensor where the caller's already is.
    int place(DeviceTensor *tensor, const StridedTensor &view);
    // Rows from `rows`[batch entry] on become zeros, and so do channels that `from` does not have. `parts`: of a result
    // of forward in f32, where more than one thread has a row.
    int copy(const StridedTensor &from, const StridedTensor &to, DeviceTensor *rows,
             const ResultParts<int> &parts = {1, 1, 0});

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
