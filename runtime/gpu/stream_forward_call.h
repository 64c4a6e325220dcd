// One forward call on tensors in device memory, in the order of a stream.
#pragma once

#include <array>

#include "forward_tensors.h"
#include "stream_memory.h"

namespace flashwright {

class StreamForwardCall {
 public:
    // Refers to the arguments.
    StreamForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, const GpuDevice &device, void *context)
        : p_(problem),
          kernel_(kernel),
          memory_(device, context),
          tensors_(problem, kernel, context),
          row_count_(context) {}

    flashwright_status prepare();
    // Enqueues copies of the inputs, the kernel, and copies of the outputs. Returns Halide's error code.
    int launch();

 private:
    struct Input {
        const StridedTensor *view;
        DeviceTensor *tensor;
    };

    std::array<Input, 3> inputs() { return {{{&p_.q, &tensors_.q}, {&p_.k, &tensors_.k}, {&p_.v, &tensors_.v}}}; }
    bool in_place(const StridedTensor &view, const DeviceTensor &padded, bool of_keys) const;
    int provide();
    int copy_inputs();
    int copy_outputs();

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    StreamMemory memory_;
    GpuForwardTensors tensors_;
    DeviceTensor row_count_;  // seqlen_q for each batch entry
};

}  // namespace flashwright
