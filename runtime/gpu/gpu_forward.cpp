// flashwright_gpu_forward: all heads of a call by one kernel.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>

#include "device.h"
#include "forward_call.h"
#include "kernel_choice.h"
#include "run_call.h"
#include "status.h"

namespace flashwright {
namespace {

flashwright_status run_forward(const ForwardProblem &problem, const char *backend, const char **name) {
    const std::int64_t channels = std::max(problem.head_dim, problem.head_dim_v);
    const GpuKernel *kernel =
        find_kernel(kGpuKernels, kGpuKernelCount, backend, problem.dtype, channels,
                    attention_request(Op::forward, problem).terms, all_finite(problem, problem.v, true));
    return run_call<GpuForwardCall>(problem, kernel, backend, name);
}

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_available(const char *backend) {
    const halide_device_interface_t *device = nullptr;
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
    const int result = halide_device_malloc(call.context(), &buffer, device);
    if (result == halide_error_code_success) halide_device_free(call.context(), &buffer);
    flashwright_status answer = call.status(result);
    // Where there is no driver Halide says that memory could not be had.
    if (failed(answer)) answer.code = FLASHWRIGHT_DEVICE_ERROR;
    return answer;
}

flashwright_status flashwright_gpu_forward(const flashwright_forward_args *args, const char *backend,
                                           const char **kernel) {
    ForwardProblem problem;
    const halide_device_interface_t *device = nullptr;
    flashwright_status status = find_backend(backend, &device);
    if (!failed(status)) status = validate_forward(args, true, &problem);
    if (!failed(status))
        status = check_supported(problem, backend, reach_of(kGpuKernels, kGpuKernelCount, backend, problem.dtype));
    if (failed(status)) return status;
    if (problem.batch == 0 || problem.heads == 0 || problem.seqlen_q == 0) return ok_status();
    return run_forward(problem, backend, kernel);
}
