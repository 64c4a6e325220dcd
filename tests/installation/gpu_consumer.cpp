// The CPU and the GPU library in one program: one row over two equal keys, on each. Without an OpenCL device the GPU's
// answer is an error, and the CPU's is right all the same.
#include <flashwright/flashwright.h>
#include <flashwright/flashwright_gpu.hpp>

#include <cmath>
#include <cstdio>

__attribute__((visibility("default"))) int attend() {
    const float q[1] = {0}, k[2] = {0, 0}, v[2] = {1, 2};
    float out[1] = {NAN};
    const flashwright::ConstTensorView qs(q, {1, 1}), ks(k, {2, 1}), vs(v, {2, 1});
    const flashwright::TensorView outs(out, {1, 1});
    for (const char *const backend : {"opencl", "cpu", "opencl", "cuda", "cpu"}) {
        const bool on_cpu = backend[0] == 'c' && backend[1] == 'p';
        out[0] = NAN;
        const flashwright::Status status =
            on_cpu ? flashwright::forward(qs, ks, vs, outs) : flashwright::gpu_forward(backend, qs, ks, vs, outs);
        std::printf("%s: %g %s\n", backend, static_cast<double>(out[0]), status.message());
        if (status.ok() ? std::fabs(out[0] - 1.5F) > 1e-6F : on_cpu || !std::isnan(out[0])) return 1;
    }
    return 0;
}
