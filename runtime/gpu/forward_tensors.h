// What the forward kernel of one call reads and writes: its tensors, padded and dense, and its plan.
#pragma once

#include "device_problem.h"

namespace flashwright {

class GpuForwardTensors {
 public:
    // Refers to the arguments.
    GpuForwardTensors(const ForwardProblem &problem, const GpuKernel &kernel, void *context);

    // Sizes of all; and what the host alone knows, filled.
    flashwright_status prepare();
    // Halide's error code of the kernel, which may still run.
    int launch();

    // Padded copies, without memory yet. A mask that is not given is one row, filled.
    DeviceTensor q, k, v, bias, mask, result;
    // Per head, and of each batch entry.
    DeviceTensor slopes, lo_offset, hi_offset, diagonal, key_count;
    DeviceTensor plan;

 private:
    flashwright_status describe();
    void fill_plan();

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    void *context_;
    std::int64_t rows_, keys_;
    std::int64_t pair_rows_, pair_keys_;  // of bias and mask: 1 where the kernel reads neither
};

}  // namespace flashwright
