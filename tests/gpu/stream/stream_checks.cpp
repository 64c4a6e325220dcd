#include "stream_checks.h"

#include <algorithm>
#include <map>

namespace flashwright::test {
namespace {

// One run, in which the call of the driver after `skipped` others fails. Whether there was one, and it went unseen.
struct Outcome {
    bool failed, unseen;
};

// Of the launches since the last reset that did not fail.
void expect_outputs_last(const std::vector<const void *> &outputs, int launches) {
    std::size_t written = 0, others = 0;
    for (const fake_cuda::Call &launch : calls_of("cuLaunchKernel")) {
        const bool writes = std::any_of(outputs.begin(), outputs.end(),
                                        [&](const void *output) { return has_argument(launch, output); });
        if (!launch.failed) ++(writes ? written : others);
    }
    const std::size_t all = static_cast<std::size_t>(launches);
    EXPECT_TRUE(written == 0 || others == all - outputs.size()) << "an output was written before all was enqueued";
    if (written + others == all) {
        EXPECT_EQ(written, outputs.size());
    }
}

Outcome run_with_failure(
    int skipped, int error, int launches,
    const std::function<StreamCall(const flashwright_gpu_stream &stream, DeviceMemory &memory)> &prepare) {
    const Context context;  // kernels are loaded anew
    DeviceMemory memory;
    const StreamCall call = prepare(on(context), memory);
    const std::size_t before = fake_cuda::living_allocations();
    fake_cuda::reset();
    fake_cuda::fail_after(skipped, error);
    const flashwright_status status = call.run();
    const bool failed = !fake_cuda::failure_pending(), done = status.code == FLASHWRIGHT_OK;
    const std::size_t launched = calls_of("cuLaunchKernel").size();
    expect_outputs_last(call.outputs, launches);
    fake_cuda::reset();
    EXPECT_EQ(fake_cuda::context_depth(), 1U);
    EXPECT_EQ(fake_cuda::living_allocations(), before);
    if (done) {
        EXPECT_EQ(launched, static_cast<std::size_t>(launches));
        return {failed, failed};
    }
    EXPECT_TRUE(failed);
    const bool out_of_memory = error == kOutOfMemory && skipped < 4;  // our own calls
    expect_message(
        status, out_of_memory ? FLASHWRIGHT_OUT_OF_MEMORY : FLASHWRIGHT_DEVICE_ERROR,
        {"backend", "cuda", error == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_ILLEGAL_ADDRESS"});
    return {failed, false};
}

}  // namespace

void expect_enqueued_alone(const Context &context, int modules, int launches) {
    std::map<std::string, int> count;
    for (const fake_cuda::Call &call : fake_cuda::calls()) {
        if (call.function == "cuCtxPushCurrent") continue;
        ++count[call.function];
        EXPECT_EQ(call.context, context.handle()) << call.function;
        if (call.function == "cuLaunchKernel" || call.function.find("Async") != std::string::npos) {
            EXPECT_EQ(call.stream, kStream) << call.function;
        }
    }
    const std::map<std::string, int> expected = {
        {"cuStreamIsCapturing", 1}, {"cuModuleLoadDataEx", modules}, {"cuModuleGetFunction", launches},
        {"cuMemAllocAsync", 1},     {"cuMemcpyHtoDAsync", 1},        {"cuLaunchKernel", launches},
        {"cuMemFreeAsync", 1},
    };
    EXPECT_EQ(count, expected);
    EXPECT_EQ(fake_cuda::calls().back().function, "cuMemFreeAsync");
}

void expect_every_failure_is_a_status(
    int launches,
    const std::function<StreamCall(const flashwright_gpu_stream &stream, DeviceMemory &memory)> &prepare) {
    for (const int error : {kOutOfMemory, kIllegalAddress}) {
        int failures = 0, unseen = 0;
        for (Outcome outcome{true, false}; outcome.failed; ++failures) {
            SCOPED_TRACE("call " + std::to_string(failures) + ", error " + std::to_string(error));
            outcome = run_with_failure(failures, error, launches, prepare);
            unseen += outcome.unseen ? 1 : 0;
        }
        EXPECT_GT(failures, 5 * launches);
        EXPECT_EQ(unseen, launches + 1);  // each kernel let go, and the memory
    }
}

}  // namespace flashwright::test
