// Times of the kernels of a backend on tensors that are already on the device: one line of JSON for each shape and
// operation.
//
//     flashwright_gpu_bench BACKEND B,HQ,HKV,TQ,TK,D[,DV][,causal]…
#include "flashwright/flashwright_gpu.h"
#include "measure/shape_spec.h"
#include "runtime/gpu/backward_call.h"
#include "runtime/gpu/device.h"
#include "runtime/gpu/forward_call.h"
#include "tests/support/gradient.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

namespace flashwright {
namespace {

constexpr int kBatches = 7;             // of which the median counts
constexpr double kBatchSeconds = 0.05;  // at least

void check(const flashwright_status &status) {
    if (status.code != FLASHWRIGHT_OK) throw std::runtime_error(status.message);
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds of a launch, from batches that follow each other without a wait.
template <typename Call>
double measure(const DeviceCall &device, Call &call) {
    const auto run_batch = [&](int launches) {
        const double start = seconds();
        for (int n = 0; n < launches; ++n) check(device.status(call.launch()));
        check(device.status(call.wait()));
        return seconds() - start;
    };
    check(call.prepare());
    run_batch(1);
    int launches = 1;
    while (run_batch(launches) < kBatchSeconds) launches *= 2;
    std::vector<double> times;
    for (int n = 0; n < kBatches; ++n) times.push_back(run_batch(launches) / launches);
    std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
    return times[kBatches / 2];
}

void print(const char *op, const ShapeSpec &shape, double flops, const char *kernel, double time) {
    fmt::print(
        "{{\"op\": \"{}\", \"shape\": \"{}\", \"kernel\": \"{}\", \"milliseconds\": {:.4f}, \"gflops\": {:.1f}}}\n", op,
        to_string(shape), kernel, 1e3 * time, flops / time / 1e9);
}

void run(const char *backend, const std::string &text) {
    const ShapeSpec spec = parse_shape_spec(text);
    test::Options options;
    options.causal = spec.causal;
    test::GradientProblem problem(
        FLASHWRIGHT_F32,
        {spec.batch, spec.num_heads, spec.num_heads_kv, spec.seqlen_q, spec.seqlen_k, spec.head_dim, spec.head_dim_v},
        options);
    const flashwright_backward_args args = problem.args();
    const flashwright_forward_args forward_args = problem.forward.args();
    BackwardProblem backward;
    ForwardProblem forward;
    check(validate_forward(&forward_args, true, &forward));
    check(validate_backward(&args, true, &backward));
    const std::int64_t channels = std::max(spec.head_dim, spec.head_dim_v);
    const GpuKernel *kernel = find_kernel(kGpuKernels, kGpuKernelCount, backend, FLASHWRIGHT_F32, channels, 0, true);
    const GpuBackwardKernel *gradient =
        find_kernel(kGpuBackwardKernels, kGpuBackwardKernelCount, backend, FLASHWRIGHT_F32, channels, 0, true);
    if (kernel == nullptr || gradient == nullptr) throw std::runtime_error("no kernel takes " + text);
    DeviceCall device(backend);
    GpuForwardCall forward_call(forward, *kernel, device.context());
    print("forward", spec, forward_flops(spec), kernel->name, measure(device, forward_call));
    // The passes take the same time whatever these hold.
    problem.forward.out.assign([](std::int64_t) { return 1; });
    problem.forward.lse.assign([](std::int64_t) { return 1; });
    GpuBackwardCall backward_call(backward, *gradient, device.context());
    print("backward", spec, backward_flops(spec), gradient->name, measure(device, backward_call));
}

}  // namespace
}  // namespace flashwright

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    try {
        flashwright::check(flashwright_gpu_available(argv[1]));
        for (int n = 2; n < argc; ++n) flashwright::run(argv[1], argv[n]);
    } catch (const std::exception &e) {
        fmt::print(stderr, "error: {}\n", e.what());
        return 1;
    }
    return 0;
}
