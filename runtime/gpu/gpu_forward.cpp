// flashwright_gpu_forward: one kernel computes all heads of a call.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>

#include "call_by_gpu_kernel.h"
#include "device.h"
#include "forward_call.h"
#include "run_call.h"
#include "runtime/src/kernel_choice.h"
#include "runtime/src/status.h"
#include "stream_forward_call.h"

namespace flashwright {
namespace {

const GpuKernel *find_forward(const GpuKernel *kernels, int count, const ForwardProblem &problem, const char *backend,
                              bool finite) {
    return find_kernel(kernels, count, backend, problem.dtype, std::max(problem.head_dim, problem.head_dim_v),
                       attention_request(Op::forward, problem).terms, finite);
}

flashwright_status check_forward(const flashwright_forward_args *args, const char *backend, ForwardProblem *problem) {
    const flashwright_status status = validate_forward(args, true, problem);
    if (failed(status)) return status;
    return check_supported(*problem, backend, reach_of(kGpuKernels, kGpuKernelCount, backend, problem->dtype));
}

bool nothing_to_do(const ForwardProblem &problem) {
    return problem.batch == 0 || problem.heads == 0 || problem.seqlen_q == 0;
}

// Runs the first of the kernels that takes the call.
flashwright_status forward_on_stream(const flashwright_forward_args *args, const flashwright_gpu_stream *stream,
                                     const GpuKernel *kernels, int count, const char **name) {
    ForwardProblem problem;
    const GpuDevice *device = nullptr;
    GpuStream where;
    flashwright_status status = find_stream(stream, &device, &where);
    if (!failed(status)) status = check_forward(args, stream->backend, &problem);
    if (failed(status) || nothing_to_do(problem)) return status;
    return run_on_stream<StreamForwardCall>(
        problem, find_forward(kernels, count, problem, stream->backend, stream->finite != 0), *device, where, name);
}

}  // namespace

flashwright_status forward_on_stream_by_kernel(const flashwright_forward_args &args,
                                               const flashwright_gpu_stream &stream, const GpuKernel &kernel) {
    return forward_on_stream(&args, &stream, &kernel, 1, nullptr);
}

}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_available(const char *backend) {
    const GpuDevice *device = nullptr;
    const flashwright_status status = find_backend(backend, &device);
    if (failed(status)) return status;
    DeviceCall call(backend);
    std::int32_t element = 0;
    halide_dimension_t dimension(0, 1, 1);
    halide_buffer_t buffer = {};
    buffer.host = reinterpret_cast<std::uint8_t *>(&element);
    buffer.type = halide_type_of<std::int32_t>();
    buffer.dimensions = 1;
    buffer.dim = &dimension;
    const int result = halide_device_malloc(call.context(), &buffer, device->interface());
    if (result == halide_error_code_success) halide_device_free(call.context(), &buffer);
    return call.status(result);
}

flashwright_status flashwright_gpu_forward(const flashwright_forward_args *args, const char *backend,
                                           const char **kernel) {
    ForwardProblem problem;
    const GpuDevice *device = nullptr;
    flashwright_status status = find_backend(backend, &device);
    if (!failed(status)) status = check_forward(args, backend, &problem);
    if (failed(status) || nothing_to_do(problem)) return status;
    const bool finite = all_finite(problem, problem.v, true);
    return run_call<GpuForwardCall>(problem, find_forward(kGpuKernels, kGpuKernelCount, problem, backend, finite),
                                    backend, kernel);
}

flashwright_status flashwright_gpu_forward_on_stream(const flashwright_forward_args *args,
                                                     const flashwright_gpu_stream *stream, const char **kernel) {
    return forward_on_stream(args, stream, kGpuKernels, kGpuKernelCount, kernel);
}
