// Calls from several threads at once, each on a stream and in a context of its own.
#include "stream_test.h"

#include <thread>

namespace flashwright::test {

class StreamThreads : public StreamTest {};

TEST_F(StreamThreads, EachKeepsItsStream) {
    constexpr int kThreads = 4, kCalls = 20, kLaunches = 6;
    struct Of {
        std::thread::id thread;
        void *context, *stream;
    };
    std::vector<Of> expected(kThreads);
    std::vector<std::thread> threads;
    for (int n = 0; n < kThreads; ++n) {
        threads.emplace_back([&of = expected[static_cast<std::size_t>(n)], n] {
            const Context context;
            of = {std::this_thread::get_id(), context.handle(), reinterpret_cast<void *>(0x100 + n)};
            const flashwright_gpu_stream stream = on(context, of.stream);
            Problem problem(FLASHWRIGHT_F32, {2, 4, 2, 37, 50, 20, 11});
            DeviceMemory memory;
            const flashwright_forward_args args = memory.arguments(problem);
            for (int call = 0; call < kCalls; ++call) {
                EXPECT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));
                // A call on host memory between them has the runtime's own context and stream.
                const flashwright_forward_args host = problem.args();
                EXPECT_TRUE(is_ok(flashwright_gpu_forward(&host, "cuda", nullptr)));
            }
            EXPECT_EQ(fake_cuda::context_depth(), 1U);
        });
    }
    for (std::thread &thread : threads) thread.join();

    const std::vector<fake_cuda::Call> launches = calls_of("cuLaunchKernel");
    for (const Of &of : expected) {
        int own = 0, of_the_runtime = 0;
        for (const fake_cuda::Call &launch : launches) {
            if (launch.thread != of.thread) continue;
            own += launch.stream == of.stream && launch.context == of.context ? 1 : 0;
            of_the_runtime += launch.stream == nullptr && launch.context != of.context ? 1 : 0;
        }
        EXPECT_EQ(own, kCalls * kLaunches);
        EXPECT_EQ(of_the_runtime, kCalls);
    }
    EXPECT_EQ(launches.size(), static_cast<std::size_t>(kThreads * kCalls * (kLaunches + 1)));
}

}  // namespace flashwright::test
