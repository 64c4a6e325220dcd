// flashwright_gpu_backward: the passes of one kernel compute the gradients of all heads.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>
#include <cinttypes>

#include "backward_call.h"
#include "device.h"
#include "run_call.h"
#include "runtime/src/backward_block.h"
#include "runtime/src/kernel_choice.h"
#include "runtime/src/status.h"
#include "stream_backward_call.h"

namespace flashwright {
namespace {

bool finite(const BackwardProblem &problem) {
    const ForwardProblem &p = problem.forward;
    return all_finite(p, p.q, false) && all_finite(p, p.k, true) && all_finite(p, p.v, true) &&
           all_finite(p, problem.dout, false);
}

// Without pairs of a query and a key all gradients are 0.
void fill_zeros(const BackwardProblem &problem) {
    for (const StridedTensor *gradient : {&problem.dq, &problem.dk, &problem.dv, &problem.dbias}) {
        if (!gradient->given) continue;
        with_element_type(problem.forward.dtype, [&](auto element) {
            using Element = decltype(element);
            set_rows<Element>(*gradient, [](auto...) -> const Element * { return nullptr; });
        });
    }
}

flashwright_status fill_zeros_on_stream(const BackwardProblem &problem, const GpuDevice &device,
                                        const GpuStream &stream) {
    DeviceCall call(device.backend, &stream);
    StreamMemory memory(device, call.context());
    DeviceTensor none(call.context());  // how many rows to copy: 0 of each batch entry
    flashwright_status status =
        none.allocate("q", halide_type_of<std::int32_t>(), {std::max<std::int64_t>(problem.forward.batch, 1)});
    const auto gradients = {&problem.dq, &problem.dk, &problem.dv, &problem.dbias};
    for (const StridedTensor *gradient : gradients) {
        if (!failed(status)) status = check_device_strides(*gradient);
    }
    if (failed(status) || problem.nothing_to_write()) return status;
    memory.add(&none);
    status = call.status(memory.enter());
    if (!failed(status)) status = call.status(memory.allocate());
    for (const StridedTensor *gradient : gradients) {
        if (!failed(status) && gradient->given) status = call.status(memory.copy(*gradient, *gradient, &none));
    }
    return status;
}

// Checks that forward does not need.
flashwright_status check_backward_supported(const BackwardProblem &problem, const char *backend) {
    const std::int64_t groups = problem.forward.batch * problem.forward.heads_kv;
    if (groups > kMaxGrid) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "k: expected at most %" PRId64 " heads of all batch entries on backend %s, got %" PRId64,
                           kMaxGrid, backend, groups);
    }
    return ok_status();
}

flashwright_status check_backward(const flashwright_backward_args *args, const char *backend,
                                  BackwardProblem *problem) {
    flashwright_status status = validate_backward(args, true, problem);
    if (!failed(status)) {
        status =
            check_supported(problem->forward, backend,
                            reach_of(kGpuBackwardKernels, kGpuBackwardKernelCount, backend, problem->forward.dtype));
    }
    return failed(status) ? status : check_backward_supported(*problem, backend);
}

const GpuBackwardKernel *find_backward(const BackwardProblem &problem, const char *backend, bool finite) {
    const ForwardProblem &p = problem.forward;
    return find_kernel(kGpuBackwardKernels, kGpuBackwardKernelCount, backend, p.dtype,
                       std::max(p.head_dim, p.head_dim_v), attention_request(Op::backward, p).terms, finite);
}

// A kernel that was found may lack the pass for dbias.
flashwright_status check_dbias(const BackwardProblem &problem, const GpuBackwardKernel *kernel) {
    const auto gives_dbias = [](const GpuBackwardKernel::Pass &pass) { return pass.dbias; };
    if (kernel == nullptr || !problem.dbias.given ||
        std::any_of(kernel->passes, kernel->passes + kernel->pass_count, gives_dbias)) {
        return ok_status();
    }
    return make_status(FLASHWRIGHT_UNSUPPORTED,
                       "dbias: expected NULL, since kernel %s has no pass for it, got a tensor", kernel->name);
}

bool no_pairs(const ForwardProblem &p) { return p.batch == 0 || p.heads == 0 || p.seqlen_q == 0 || p.seqlen_k == 0; }

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_backward(const flashwright_backward_args *args, const char *backend,
                                            const char **kernel) {
    BackwardProblem problem;
    const GpuDevice *device = nullptr;
    flashwright_status status = find_backend(backend, &device);
    if (!failed(status)) status = check_backward(args, backend, &problem);
    if (failed(status)) return status;
    if (no_pairs(problem.forward)) {
        fill_zeros(problem);
        return status;
    }
    const GpuBackwardKernel *found = find_backward(problem, backend, finite(problem));
    status = check_dbias(problem, found);
    return failed(status) ? status : run_call<GpuBackwardCall>(problem, found, backend, kernel);
}

flashwright_status flashwright_gpu_backward_on_stream(const flashwright_backward_args *args,
                                                      const flashwright_gpu_stream *stream, const char **kernel) {
    BackwardProblem problem;
    const GpuDevice *device = nullptr;
    GpuStream where;
    flashwright_status status = find_stream(stream, &device, &where);
    if (!failed(status)) status = check_backward(args, stream->backend, &problem);
    if (failed(status)) return status;
    if (no_pairs(problem.forward)) return fill_zeros_on_stream(problem, *device, where);
    const GpuBackwardKernel *found = find_backward(problem, stream->backend, stream->finite != 0);
    status = check_dbias(problem, found);
    return failed(status) ? status : run_on_stream<StreamBackwardCall>(problem, found, *device, where, kernel);
}
