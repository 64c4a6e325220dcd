// One forward call on a device: padded copies of its tensors, its plan, and its kernel.
#pragma once

#include "device_problem.h"

namespace flashwright {

class GpuForwardCall {
 public:
    // Refers to the arguments.
    GpuForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, void *context);

    flashwright_status prepare();
    // Halide's error codes: of the kernel, which may still run, of the wait for it, and of bringing its result.
    int launch();
    int wait() { return result_.wait(); }
    int fetch() { return result_.fetch(); }
    // The host's result to the caller's outputs.
    void deliver() const;

 private:
    void plan_blocks(std::int64_t thread_blocks);
    void deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const;

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    void *context_;
    std::int64_t rows_, keys_;
    DeviceTensor q_{context_}, k_{context_}, v_{context_}, bias_{context_}, mask_{context_}, slopes_{context_},
        lo_{context_}, hi_{context_}, diagonal_{context_}, key_count_{context_}, plan_{context_}, result_{context_};
};

}  // namespace flashwright
