// One backward call on tensors in device memory, in the order of a stream.
#pragma once

#include "backward_tensors.h"
#include "stream_memory.h"

namespace flashwright {

class StreamBackwardCall {
 public:
    // Refers to the arguments.
    StreamBackwardCall(const BackwardProblem &problem, const GpuBackwardKernel &kernel, const GpuDevice &device,
                       void *context);

    flashwright_status prepare();
    // Enqueues copies of the inputs, the passes, and copies of the gradients. Returns Halide's error code.
    int launch();

 private:
    bool halves() const { return p_.dtype == FLASHWRIGHT_F16; }
    flashwright_status fill_ranges();
    int provide();
    int copy_inputs();
    int describe();
    int copy_outputs();
    int copy_result(const GpuBackwardTensors::Pass &of);
    int sum_bias_gradient(const DeviceTensor &scores);
    int copy_gradient(const DeviceTensor &result, std::int64_t gradient, std::int64_t padded_rows,
                      const StridedTensor &to, DeviceTensor *rows);

    const BackwardProblem &problem_;
    const ForwardProblem &p_;
    const GpuBackwardKernel &kernel_;
    const GpuDevice &device_;
    void *context_;
    StreamMemory memory_;
    GpuBackwardTensors t_;
    // For each batch entry: the unmasked keys of a row and the unmasked rows of a key, as offsets; how many of each
    // exist.
    DeviceTensor key_lo_, key_hi_, row_lo_, row_hi_, row_count_, key_count_;
    DeviceTensor diagonal_, alibi_slopes_, terms_;
};

}  // namespace flashwright
