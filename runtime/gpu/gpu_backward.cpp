// flashwright_gpu_backward: the gradients of all heads by the passes of one kernel.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>
#include <cinttypes>

#include "backward_call.h"
#include "device.h"
#include "gradient_block.h"
#include "kernel_choice.h"
#include "run_call.h"
#include "status.h"

namespace flashwright {
namespace {

bool finite(const BackwardProblem &problem) {
    const ForwardProblem &p = problem.forward;
    return all_finite(p, p.q, false) && all_finite(p, p.k, true) && all_finite(p, p.v, true) &&
           all_finite(p, problem.dout, false);
}

void fill_zeros(const BackwardProblem &problem) {
    for (const StridedTensor *gradient : {&problem.dq, &problem.dk, &problem.dv, &problem.dbias}) {
        if (!gradient->given) continue;
        for (std::int64_t b = 0; b < gradient->shape[kBatch]; ++b) {
            for (std::int64_t h = 0; h < gradient->shape[kHead]; ++h) {
                fill_zero(HeadMatrix<float>(*gradient, b, h), 0, gradient->shape[kRow]);
            }
        }
    }
}

// Beside what forward checks.
flashwright_status check_gradient_supported(const BackwardProblem &problem, const char *backend) {
    const std::int64_t groups = problem.forward.batch * problem.forward.heads_kv;
    if (groups > kMaxGrid) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "k: expected at most %" PRId64 " heads of all batch entries on backend %s, got %" PRId64,
                           kMaxGrid, backend, groups);
    }
    return ok_status();
}

bool gives_dbias(const GpuGradientKernel &kernel) {
    return std::any_of(kernel.passes, kernel.passes + kernel.pass_count,
                       [](const GpuGradientKernel::Pass &pass) { return pass.dbias; });
}

flashwright_status run_backward(const BackwardProblem &problem, const char *backend, const char **name) {
    const ForwardProblem &p = problem.forward;
    const GpuGradientKernel *kernel =
        find_kernel(kGpuGradientKernels, kGpuGradientKernelCount, backend, p.dtype, std::max(p.head_dim, p.head_dim_v),
                    attention_request(Op::backward, p).terms, finite(problem));
    if (kernel != nullptr && problem.dbias.given && !gives_dbias(*kernel)) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "dbias: expected none, as %s of this build's configuration has no pass for it, got one",
                           kernel->name);
    }
    return run_call<GpuBackwardCall>(problem, kernel, backend, name);
}

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_backward(const flashwright_backward_args *args, const char *backend,
                                            const char **kernel) {
    BackwardProblem problem;
    const ForwardProblem &p = problem.forward;
    const halide_device_interface_t *device = nullptr;
    flashwright_status status = find_backend(backend, &device);
    if (!failed(status)) status = validate_backward(args, true, &problem);
    if (!failed(status)) {
        status = check_supported(p, backend, reach_of(kGpuGradientKernels, kGpuGradientKernelCount, backend, p.dtype));
    }
    if (!failed(status)) status = check_gradient_supported(problem, backend);
    if (failed(status)) return status;
    if (p.batch == 0 || p.heads == 0 || p.seqlen_q == 0 || p.seqlen_k == 0) {
        fill_zeros(problem);
        return status;
    }
    return run_backward(problem, backend, kernel);
}
