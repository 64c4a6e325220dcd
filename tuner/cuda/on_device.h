// A problem's tensors in device memory.
#pragma once

#include "cuda_session.h"
#include "gpu_problem.h"

#include <cstddef>
#include <cstdint>
#include <random>

namespace flashwright {

class OnDevice {
 public:
    // At addresses that `placements` draws, unless it is null. Session and problem must outlive this.
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
