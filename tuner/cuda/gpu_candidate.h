// A CUDA candidate that is loaded in a child process.
#pragma once

#include "flashwright/flashwright.h"
#include "gpu_configuration.h"

#include <memory>
#include <string>

namespace flashwright {

class CudaSession;

// Whether this build has the CUDA backend.
bool calls_gpu_candidates();

class GpuCandidate {
 public:
    // Throws std::runtime_error if the file cannot be loaded.
    GpuCandidate(const std::string &shared_object, const ConfiguredKernel &kernel, const GpuTiles &tiles);
    GpuCandidate(const GpuCandidate &) = delete;
    GpuCandidate &operator=(const GpuCandidate &) = delete;
    ~GpuCandidate();

    // On tensors in device memory, in the session's stream, without waiting. Throws std::runtime_error with the
    // library's message.
    void forward(const flashwright_forward_args &args, const CudaSession &session) const;

 private:
    struct Kernel;
    std::unique_ptr<Kernel> kernel_;
};

}  // namespace flashwright
