// Calls on streams for which the host has no memory. The program is linked with --wrap, so that what the library
// allocates comes by here; allocations of other libraries do not.
#include "stream_test.h"

#include <cstdlib>

namespace flashwright::test {
namespace {

// Of this thread: allocations until one fails; none does below 0.
thread_local int allocations_to_failure = -1;

bool fails() { return allocations_to_failure >= 0 && allocations_to_failure-- == 0; }

}  // namespace

extern "C" {

void *__real_malloc(std::size_t bytes);
void *__real_aligned_alloc(std::size_t alignment, std::size_t bytes);

// Halide's runtime asks for little at a time, and does not look whether it got it.
void *__wrap_malloc(std::size_t bytes) { return bytes >= 1024 && fails() ? nullptr : __real_malloc(bytes); }

void *__wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return fails() ? nullptr : __real_aligned_alloc(alignment, bytes);
}

}  // extern "C"

class HostAllocation : public StreamTest {
 protected:
    // `call` with each of its allocations failing, until it succeeds. Halide's runtime has what it keeps by then.
    template <typename Call>
    static void expect_every_failure_is_a_status(const Call &call) {
        ASSERT_TRUE(is_ok(call()));
        int failures = 0, for_the_plan = 0;
        for (;; ++failures) {
            SCOPED_TRACE("allocation " + std::to_string(failures));
            const std::size_t before = fake_cuda::living_allocations();
            fake_cuda::reset();
            allocations_to_failure = failures;
            const flashwright_status status = call();
            const bool happened = allocations_to_failure < 0;
            allocations_to_failure = -1;
            if (!happened) {
                EXPECT_TRUE(is_ok(status));
                break;
            }
            expect_message(status, FLASHWRIGHT_OUT_OF_MEMORY, {": expected", "bytes", "got none"});
            EXPECT_TRUE(calls_of("cuLaunchKernel").empty());
            EXPECT_EQ(fake_cuda::context_depth(), 1U);
            EXPECT_EQ(fake_cuda::living_allocations(), before);
            for_the_plan += std::strstr(status.message, "args: expected") != nullptr ? 1 : 0;
            ASSERT_LT(failures, 100);
        }
        EXPECT_GT(failures, 5);
        EXPECT_EQ(for_the_plan, 1);
    }
};

constexpr Shape kShape{2, 4, 2, 37, 50, 20, 11};

TEST_F(HostAllocation, OfForward) {
    const Context context;
    const flashwright_gpu_stream stream = on(context);
    Problem problem(FLASHWRIGHT_F32, kShape, everything());
    DeviceMemory memory;
    const flashwright_forward_args args = memory.arguments(problem);
    expect_every_failure_is_a_status([&] { return flashwright_gpu_forward_on_stream(&args, &stream, nullptr); });
}

TEST_F(HostAllocation, OfBackward) {
    const Context context;
    const flashwright_gpu_stream stream = on(context);
    GradientProblem problem(FLASHWRIGHT_F32, kShape, everything());
    DeviceMemory memory;
    const flashwright_backward_args args = memory.arguments(problem);
    expect_every_failure_is_a_status([&] { return flashwright_gpu_backward_on_stream(&args, &stream, nullptr); });
}

}  // namespace flashwright::test
