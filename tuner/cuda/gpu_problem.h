// A forward call that uses all terms of a GPU kernel, in host memory and on the device.
#pragma once

#include "cuda_session.h"
#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/candidates/guarded_tensors.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace flashwright {

struct GpuProblemOptions {
    std::int64_t window_left = -1, window_right = -1;
    bool bottom_right = false;
    std::vector<std::int32_t> key_lengths;
    std::int64_t masked_keys = 0;  // the last keys, which no query attends to: they hold infinities
};

class GpuProblem {
 public:
    // Inputs are filled, outputs are poisoned.
    GpuProblem(const ConfiguredKernel &kernel, const ShapeSpec &shape, const GpuProblemOptions &options = {});
    GpuProblem(const GpuProblem &) = delete;
    GpuProblem &operator=(const GpuProblem &) = delete;

    const flashwright_forward_args &args() const { return args_; }
    const ShapeSpec &shape() const { return shape_; }
    // Memory of the tensors; `inputs` includes the bias and mask of the arguments.
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

// The problem's tensors in device memory.
class OnDevice {
 public:
    // `placements` draws the offset of the tensors in memory; null: none. Session and problem must outlive this.
    OnDevice(const CudaSession &session, GpuProblem &problem, std::mt19937 *placements);
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

    const flashwright_forward_args &args() const { return args_; }
    void fetch_outputs() const;

 private:
    std::uint64_t place(GuardedTensors &tensors, std::mt19937 *placements) const;
    const flashwright_tensor *moved(const flashwright_tensor &tensor, flashwright_tensor *to,
                                    std::uint64_t inputs) const;

    const CudaSession &session_;
    GpuProblem &problem_;
    flashwright_forward_args args_;
    flashwright_tensor bias_, mask_;
    std::uint64_t outputs_;
};

}  // namespace flashwright
