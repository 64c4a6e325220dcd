// The CPU and the GPU library in one program: one row over two equal keys, on each, and its gradient. Without an OpenCL
// device the GPU's answer is an error, and the CPU's is right all the same.
#include <flashwright/flashwright.h>
#include <flashwright/flashwright_gpu.hpp>

#include <cmath>
#include <cstdio>

static int attend_forward() {
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

// The gradient of that: each value has half of the output's.
static int differentiate() {
    const float q[1] = {0}, k[2] = {0, 0}, v[2] = {1, 2}, out[1] = {1.5F}, lse[1] = {std::log(2.0F)}, dout[1] = {1};
    for (const char *const backend : {"opencl", "cuda"}) {
        float dq[1] = {NAN}, dk[2] = {NAN, NAN}, dv[2] = {NAN, NAN};
        const flashwright::Status status =
            flashwright::gpu_backward(backend, {q, {1, 1}}, {k, {2, 1}}, {v, {2, 1}}, {out, {1, 1}}, {lse, {1}},
                                      {dout, {1, 1}}, {{dq, {1, 1}}, {dk, {2, 1}}, {dv, {2, 1}}, {}});
        std::printf("%s: %g %g %s\n", backend, static_cast<double>(dv[0]), static_cast<double>(dv[1]),
                    status.message());
        const bool right = std::fabs(dv[0] - 0.5F) < 1e-6F && std::fabs(dv[1] - 0.5F) < 1e-6F && dq[0] == 0;
        if (status.ok() ? !right : !std::isnan(dv[0])) return 1;
    }
    return 0;
}

__attribute__((visibility("default"))) int attend() { return attend_forward() + differentiate(); }
