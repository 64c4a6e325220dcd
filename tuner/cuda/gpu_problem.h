// A forward call that needs all terms of a GPU kernel, in host memory.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/candidates/guarded_tensors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

struct GpuProblemOptions {
    std::int64_t window_left = -1, window_right = -1;
    bool bottom_right = false;
    std::vector<std::int32_t> key_lengths;
    std::int64_t unseen = 0;  // last keys that no query sees: they hold infinities
};

class GpuProblem {
 public:
    // Inputs are filled, outputs are poison.
    GpuProblem(const ConfiguredKernel &kernel, const ShapeSpec &shape, const GpuProblemOptions &options = {});
    GpuProblem(const GpuProblem &) = delete;
    GpuProblem &operator=(const GpuProblem &) = delete;

    const flashwright_forward_args &args() const { return args_; }
    const ShapeSpec &shape() const { return shape_; }
    // Of its tensors; bias and mask, where the arguments point to them, are `inputs`' too.
    GuardedTensors &inputs() { return *inputs_; }
    GuardedTensors &outputs() { return *outputs_; }

 private:
    void describe(const GpuProblemOptions &options);
    void add_terms(const ConfiguredKernel &kernel);
    void fill(const GpuProblemOptions &options);

    ShapeSpec shape_;
    flashwright_forward_args args_;
    flashwright_tensor bias_, mask_, slopes_, lengths_;
    std::vector<float> slope_values_;
    std::vector<std::int32_t> length_values_;
    std::unique_ptr<GuardedTensors> inputs_, outputs_;
};

}  // namespace flashwright
