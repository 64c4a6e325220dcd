// One forward call on tensors in host memory. It makes padded copies of them and runs the kernel.
#pragma once

#include "forward_tensors.h"

namespace flashwright {

class GpuForwardCall {
 public:
    // Refers to the arguments.
    GpuForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, void *context)
        : p_(problem), kernel_(kernel), tensors_(problem, kernel, context) {}

    flashwright_status prepare();
    // Each returns Halide's error code. `launch` starts the kernel, `wait` waits for it, `fetch` copies its result to
    // the host.
    int launch() { return tensors_.launch(); }
    int wait() { return tensors_.result.wait(); }
    int fetch() { return tensors_.result.fetch(); }
    // Copies the fetched result to the caller's outputs.
    void deliver() const;

 private:
    void deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const;

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    GpuForwardTensors tensors_;
};

}  // namespace flashwright
