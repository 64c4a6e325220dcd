// The arguments of the backward passes in one call: their tensors, padded and dense, and their plans.
#pragma once

#include "device_problem.h"

namespace flashwright {

// The f32 columns after Q and dO in a query row and after K and V in a key. generators/gpu/backward_gpu_generator.cpp
// explains them.
enum BackwardColumn : std::uint8_t { kFirst, kLast, kLse, kDelta, kColumns };

class GpuBackwardTensors {
 public:
    // Refers to the arguments.
    GpuBackwardTensors(const BackwardProblem &problem, const GpuBackwardKernel &kernel, void *context);

    // Sets the sizes of all tensors. Fills the plans and the substitutes of a bias or a mask that is not given.
    flashwright_status prepare();
    // Makes the rows of all heads one sequence, and the keys another. To be called before `launch`.
    void merge();
    // Each returns Halide's error code. `launch` starts the passes, `wait` waits for them.
    int launch();
    int wait() { return passes[0].result.wait(); }

    // Padded rows and keys of each head; query heads of each key head.
    std::int64_t rows() const { return rows_; }
    std::int64_t keys() const { return keys_; }
    std::int64_t group() const { return p_.heads / p_.heads_kv; }

    // Without memory yet. [2 head_dim and kColumns of f32, row or key, head, batch]
    DeviceTensor query_rows, key_rows, bias, mask;
    // For each row of all heads.
    DeviceTensor slope, diagonal_key, bias_offset, mask_offset;
    // A pass that the call needs.
    struct Pass {
        explicit Pass(void *context) : plan(context), result(context) {}
        const GpuBackwardKernel::Pass *pass = nullptr;
        DeviceTensor plan;
        // Without memory yet. [channel, gradient, row or key of the group, group]; for dbias [key, 1, row of the group,
        // group] in f32.
        DeviceTensor result;
    };
    int pass_count = 0;
    Pass passes[4];

 private:
    flashwright_status describe();
    flashwright_status describe_passes();
    void fill_plan(const GpuBackwardKernel::Pass &pass, const DeviceTensor &plan) const;

    const ForwardProblem &p_;
    const GpuBackwardKernel &kernel_;
    void *context_;
    std::int64_t rows_ = 1, keys_ = 1;
};

}  // namespace flashwright
