// What calls on tensors in host memory ask of the driver.
#include "stream_test.h"

#include <cstdlib>

namespace flashwright::test {
namespace {

std::size_t bytes_copied(const std::string &function) {
    std::size_t bytes = 0;
    for (const fake_cuda::Call &call : calls_of(function)) bytes += call.bytes;
    return bytes;
}

constexpr Shape kShape{2, 4, 2, 37, 50, 20, 11};

// Either operation, whose driver works for `calls` calls.
flashwright_status forward(GradientProblem &problem, int calls) {
    problem.forward.poison_outputs();
    const flashwright_forward_args args = problem.forward.args();
    fake_cuda::reset();
    fake_cuda::fail_after(calls, kIllegalAddress, "cuCtxPushCurrent");
    return flashwright_gpu_forward(&args, "cuda", nullptr);
}

flashwright_status backward(GradientProblem &problem, int calls) {
    EXPECT_TRUE(is_ok(run(problem.forward)));
    problem.poison_outputs();
    const flashwright_backward_args args = problem.args();
    fake_cuda::reset();
    fake_cuda::fail_after(calls, kIllegalAddress, "cuCtxPushCurrent");
    return flashwright_gpu_backward(&args, "cuda", nullptr);
}

constexpr int kAll = 1 << 20;

}  // namespace

// Halide's runtime keeps what it has allocated for the next call, until flashwright_gpu_release.
class HostMemory : public StreamTest {
 protected:
    ~HostMemory() override {
        fake_cuda::reset();
        const Context released;
    }
};

TEST_F(HostMemory, EveryCallCopiesItsTensorsThereAndBack) {
    Problem problem(FLASHWRIGHT_F32, {2, 4, 2, 128, 160, 64, 64});
    const flashwright_forward_args args = problem.args();
    for (int n = 0; n < 3; ++n) {
        fake_cuda::reset();
        ASSERT_TRUE(is_ok(flashwright_gpu_forward(&args, "cuda", nullptr)));
        const std::size_t inputs = sizeof(float) * 64 * (2 * 4 * 128 + 2 * 2 * 2 * 160);
        EXPECT_GE(bytes_copied("cuMemcpyHtoD"), inputs);
        EXPECT_LT(bytes_copied("cuMemcpyHtoD"), inputs + 2048);  // the plan, and ranges of 256 bytes each
        EXPECT_EQ(bytes_copied("cuMemcpyDtoH"), sizeof(float) * 68 * (2 * 4 * 128));  // and softmax_lse, four times
        EXPECT_EQ(calls_of("cuLaunchKernel").size(), 1U);
    }
}

TEST_F(HostMemory, DoesNotGrow) {
    GradientProblem problem(FLASHWRIGHT_F32, kShape, everything());
    for (const auto operation : {forward, backward}) {
        ASSERT_TRUE(is_ok(operation(problem, kAll)));
        const std::size_t allocations = fake_cuda::living_allocations(), modules = fake_cuda::living_modules();
        for (int n = 0; n < 5; ++n) ASSERT_TRUE(is_ok(operation(problem, kAll)));
        EXPECT_EQ(fake_cuda::living_allocations(), allocations);
        EXPECT_EQ(fake_cuda::living_modules(), modules);
    }
}

// Halide's settings for one backend are no business of a build without it.
TEST_F(HostMemory, SetsTheEnvironmentOfItsBackendsAlone) {
    Problem problem(FLASHWRIGHT_F32, kShape);
    const flashwright_forward_args args = problem.args();
    ASSERT_TRUE(is_ok(flashwright_gpu_forward(&args, "cuda", nullptr)));
    EXPECT_NE(std::getenv("HL_CUDA_JIT_MAX_REGISTERS"), nullptr);
    EXPECT_EQ(std::getenv("HL_VK_ALLOC_CONFIG") != nullptr, is_built("vulkan"));
}

// Outputs are written when all has come back. Halide looks at no error of letting kernels and memory go, and where a
// context cannot become current it does neither.
TEST_F(HostMemory, EveryFailureOfTheDriverBecomesAStatus) {
    for (const auto operation : {forward, backward}) {
        int failures = 0;
        for (bool failed = true; failed; ++failures) {
            SCOPED_TRACE("call " + std::to_string(failures));
            GradientProblem problem(FLASHWRIGHT_F32, kShape, everything());
            const flashwright_status status = operation(problem, failures);
            failed = !fake_cuda::failure_pending();
            if (status.code == FLASHWRIGHT_OK) continue;
            expect_message(status, FLASHWRIGHT_DEVICE_ERROR, {"backend", "cuda", "got error"});
            EXPECT_TRUE(operation == forward ? problem.forward.outputs_untouched() : problem.outputs_untouched());
        }
        EXPECT_GT(failures, 10);
    }
}

}  // namespace flashwright::test
