// The arguments of the forward kernel in one call: its tensors, padded and dense, and its plan.
#pragma once

#include "device_problem.h"

namespace flashwright {

class GpuForwardTensors {
 public:
    // Refers to the arguments.
    GpuForwardTensors(const ForwardProblem &problem, const GpuKernel &kernel, void *context);

    // Sets the sizes of all tensors. Fills the ones that do not depend on the contents of the caller's tensors.
    flashwright_status prepare();
    // Starts the kernel. Returns Halide's error code.
    int launch();

    // Padded copies, without memory yet. A mask that is not given is one row of true.
    DeviceTensor q, k, v, bias, mask, result;
    // For each head; for each batch entry.
    DeviceTensor slopes, lo_offset, hi_offset, diagonal, key_count;
    DeviceTensor plan;

 private:
    flashwright_status describe();
    void fill_plan();

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    void *context_;
    std::int64_t rows_, keys_;
    std::int64_t pair_rows_, pair_keys_;  // of bias and mask; 1 if the kernel reads neither
};

}  // namespace flashwright
