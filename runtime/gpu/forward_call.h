// One forward call on tensors in host memory: padded copies of them, and the kernel.
#pragma once

#include "forward_tensors.h"

namespace flashwright {

class GpuForwardCall {
 public:
    // Refers to the arguments.
    GpuForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, void *context)
        : p_(problem), kernel_(kernel), tensors_(problem, kernel, context) {}

    flashwright_status prepare();
    // Halide's error codes: of the kernel, which may still run, of the wait for it, and of bringing its result.
    int launch() { return tensors_.launch(); }
    int wait() { return tensors_.result.wait(); }
    int fetch() { return tensors_.result.fetch(); }
    // The host's result to the caller's outputs.
    void deliver() const;

 private:
    void deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const;

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    GpuForwardTensors tensors_;
};

}  // namespace flashwright
