#include "gpu_candidate.h"

#include "cuda_session.h"
#include "tuner/candidates/candidate.h"

#include <stdexcept>

#if FLASHWRIGHT_HAS_CUDA
#include "measure/check_status.h"
#include "runtime/gpu/call_by_gpu_kernel.h"
#endif

namespace flashwright {

#if FLASHWRIGHT_HAS_CUDA
struct GpuCandidate::Kernel {
    GpuKernel kernel;
    std::string name;
};

bool calls_gpu_candidates() { return true; }

GpuCandidate::GpuCandidate(const std::string &shared_object, const ConfiguredKernel &kernel, const GpuTiles &tiles)
    : kernel_(std::make_unique<Kernel>()) {
    kernel_->name = kernel.name;
    static_cast<GpuKernelRange &>(kernel_->kernel) = {
        kernel_->name.c_str(), "cuda", FLASHWRIGHT_F32, kernel.terms, kernel.assume_finite, tiles.head_dim};
    kernel_->kernel.tiles = tiles;
    kernel_->kernel.forward = reinterpret_cast<GpuForwardKernel>(load_candidate(shared_object));
}

void GpuCandidate::forward(const flashwright_forward_args &args, const CudaSession &session) const {
    const flashwright_gpu_stream stream = {"cuda", session.context(), session.stream(),
                                           kernel_->kernel.assume_finite ? 1 : 0};
    check(forward_on_stream_by_kernel(args, stream, kernel_->kernel));
}
#else
struct GpuCandidate::Kernel {};

bool calls_gpu_candidates() { return false; }

GpuCandidate::GpuCandidate(const std::string &, const ConfiguredKernel &, const GpuTiles &) {
    throw std::runtime_error("this build has no CUDA backend");
}

void GpuCandidate::forward(const flashwright_forward_args &, const CudaSession &) const {}
#endif

GpuCandidate::~GpuCandidate() = default;

}  // namespace flashwright
