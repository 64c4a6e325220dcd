// What the tests of calls on streams share.
#pragma once

#include "device_memory.h"
#include "support/gradient.h"
#include "support/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flashwright::test {

constexpr int kOutOfMemory = 2, kIllegalAddress = 700;  // of CUDA
// No driver looks at it.
inline void *const kStream = reinterpret_cast<void *>(0x5000);

inline std::vector<fake_cuda::Call> calls_of(const std::string &function) {
    std::vector<fake_cuda::Call> found;
    for (const fake_cuda::Call &call : fake_cuda::calls()) {
        if (call.function == function) found.push_back(call);
    }
    return found;
}

inline flashwright_gpu_stream on(const Context &context, void *stream = kStream, bool finite = true) {
    return {"cuda", context.handle(), stream, finite ? 1 : 0};
}

// The arguments of a problem with its tensors moved to device memory.
inline flashwright_forward_args on_device(Problem &problem, DeviceMemory &memory) {
    flashwright_forward_args args = problem.args();
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse}) {
        *tensor = memory.move(*tensor);
    }
    args.score.bias = memory.move(args.score.bias);
    args.score.mask = memory.move(args.score.mask);
    return args;
}

inline flashwright_backward_args on_device(GradientProblem &problem, DeviceMemory &memory) {
    flashwright_backward_args args = problem.args();
    for (flashwright_tensor *tensor :
         {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse, &args.dout, &args.dq, &args.dk, &args.dv}) {
        *tensor = memory.move(*tensor);
    }
    args.score.bias = memory.move(args.score.bias);
    args.score.mask = memory.move(args.score.mask);
    return args;
}

// A problem as a GPU takes it: without the gradient of a bias.
inline GradientProblem gradient_problem(const Shape &shape, const Options &options = {}, const Layout &layout = {},
                                        const GradientLayout &gradients = {}) {
    GradientProblem problem(FLASHWRIGHT_F32, shape, options, layout, gradients);
    problem.dbias = Tensor();
    return problem;
}

// Each test begins and ends without anything on the device.
class StreamTest : public ::testing::Test {
 protected:
    StreamTest() { fake_cuda::reset(); }
    ~StreamTest() override {
        fake_cuda::reset();
        EXPECT_EQ(fake_cuda::living_allocations(), 0U);
    }
};

}  // namespace flashwright::test
