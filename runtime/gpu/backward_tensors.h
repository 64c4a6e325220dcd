// What the passes of backward of one call read and write, padded and dense, and their plans.
#pragma once

#include "device_problem.h"

namespace flashwright {

// What follows Q and dO in a row, and K and V in a key, in f32; see generators/gpu/backward_gpu_generator.cpp.
enum GradientColumn : std::uint8_t { kFirst, kLast, kLse, kDelta, kColumns };

class GpuBackwardTensors {
 public:
    // Refers to the arguments.
    GpuBackwardTensors(const BackwardProblem &problem, const GpuGradientKernel &kernel, void *context);

    // Sizes of all; plans, and what stands for a bias or a mask that is not given, filled.
    flashwright_status prepare();
    // Rows of all heads become one sequence, and so do keys: before they are launched.
    void merge();
    // Halide's error codes: of the passes, which may still run, and of the wait for them.
    int launch();
    int wait() { return passes[0].result.wait(); }

    // Of each head, padded; and query heads of a key head.
    std::int64_t rows() const { return rows_; }
    std::int64_t keys() const { return keys_; }
    std::int64_t group() const { return p_.heads / p_.heads_kv; }

    // Without memory yet. [2 head_dim and what kColumns of f32 take, row or key, head, batch]
    DeviceTensor query_rows, key_rows, bias, mask;
    // Of each row of all heads.
    DeviceTensor slope, diagonal_key, bias_offset, mask_offset;
    // A pass that the call takes.
    struct Pass {
        explicit Pass(void *context) : plan(context), result(context) {}
        const GpuGradientKernel::Pass *pass = nullptr;
        DeviceTensor plan;
        // Without memory yet. [channel, gradient, row or key of the group, group]; of dbias [key, 1, row of the group,
        // group], in f32
        DeviceTensor result;
    };
    int pass_count = 0;
    Pass passes[4];

 private:
    flashwright_status describe();
    flashwright_status describe_passes();
    void fill_plan(const GpuGradientKernel::Pass &pass, const DeviceTensor &plan) const;

    const ForwardProblem &p_;
    const GpuGradientKernel &kernel_;
    void *context_;
    std::int64_t rows_ = 1, keys_ = 1;
};

}  // namespace flashwright
