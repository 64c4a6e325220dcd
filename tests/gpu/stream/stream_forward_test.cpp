// Forward on tensors in device memory, by a driver that writes down what is asked of it.
#include "stream_checks.h"

namespace flashwright::test {
namespace {

constexpr Shape kShape{2, 4, 2, 37, 50, 20, 11};

std::vector<std::string> kernels_launched() {
    std::vector<std::string> names;
    for (const fake_cuda::Call &call : calls_of("cuLaunchKernel")) {
        names.emplace_back(call.kernel.find("_kernel_to_") == 0 ? "copy" : "attention");
    }
    return names;
}

}  // namespace

class StreamForward : public StreamTest {};

TEST_F(StreamForward, EnqueuesAndSendsNoTensor) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, kShape, everything());
    DeviceMemory memory;
    const flashwright_forward_args args = memory.arguments(problem);
    const flashwright_gpu_stream stream = on(context);
    fake_cuda::reset();
    ASSERT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));

    // Of q, k, v, bias, mask; attention; of out, lse.
    expect_enqueued_alone(context, 3, 8);
    EXPECT_LT(calls_of("cuMemcpyHtoDAsync")[0].bytes, memory.largest());
}

TEST_F(StreamForward, TakesDenseTensorsOfWholeTilesInPlace) {
    const Context context;
    const flashwright_gpu_stream stream = on(context);
    const auto launches = [&](const Shape &shape, const Options &options, const Layout &layout, std::int64_t offset) {
        Problem problem(FLASHWRIGHT_F32, shape, options, layout);
        DeviceMemory memory;
        flashwright_forward_args args = memory.arguments(problem);
        args.q.data = static_cast<float *>(args.q.data) + offset;
        fake_cuda::reset();
        EXPECT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));
        for (const fake_cuda::Call &call : calls_of("cuLaunchKernel")) {
            if (call.kernel.find("_kernel_result") != 0) continue;
            EXPECT_EQ(has_argument(call, args.k.data), options.key_fractions.empty());
        }
        return kernels_launched();
    };
    using Names = std::vector<std::string>;
    const Names in_place = {"attention", "copy", "copy"};
    const Names but_q = {"copy", "attention", "copy", "copy"};
    const Names but_keys = {"copy", "copy", "attention", "copy", "copy"};
    const Shape whole{2, 2, 1, 128, 160, 64, 64};
    EXPECT_EQ(launches(whole, {}, {}, 0), in_place);
    EXPECT_EQ(launches(whole, {}, {}, 1), but_q);  // not at 16 bytes
    EXPECT_EQ(launches({2, 2, 1, 127, 160, 64, 64}, {}, {}, 0), but_q);
    EXPECT_EQ(launches(whole, {}, {Form::sequence_major}, 0), but_q);
    EXPECT_EQ(launches({1, 1, 1, 128, 160, 64, 64}, {}, {Form::odd_ones}, 0), in_place);
    EXPECT_EQ(launches(whole, options_with([](Options &o) { o.key_fractions = {1, 0.5}; }), {}, 0), but_keys);
}

// Masked keys may hold anything unless the caller says otherwise.
TEST_F(StreamForward, FiniteIsTheCallersWord) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, kShape);
    DeviceMemory memory;
    const flashwright_forward_args args = memory.arguments(problem);
    const char *kernel = nullptr;
    flashwright_gpu_stream stream = on(context);
    ASSERT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, &kernel)));
    EXPECT_STREQ(kernel, "forward_f32_cuda_d32");
    stream.finite = 0;
    ASSERT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, &kernel)));
    EXPECT_STREQ(kernel, "forward_softcap_alibi_bias_mask_f32_cuda_d32_nansafe");
}

// NULL is the context's default stream, which has a name of its own: by NULL Halide would copy and wait.
TEST_F(StreamForward, DefaultsAreTheCurrentContextAndItsStream) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, kShape);
    DeviceMemory memory;
    const flashwright_forward_args args = memory.arguments(problem);
    const flashwright_gpu_stream stream{"cuda", nullptr, nullptr, 1};
    fake_cuda::reset();
    ASSERT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));
    const std::vector<fake_cuda::Call> launches = calls_of("cuLaunchKernel");
    EXPECT_EQ(launches.size(), 6U);
    for (const fake_cuda::Call &launch : launches) {
        EXPECT_EQ(launch.stream, reinterpret_cast<void *>(1));
        EXPECT_EQ(launch.context, context.handle());
    }
    EXPECT_EQ(fake_cuda::context_depth(), 1U);
}

TEST_F(StreamForward, NoContextAtAll) {
    Problem problem(FLASHWRIGHT_F32, kShape);
    const flashwright_forward_args args = problem.args();
    const flashwright_gpu_stream stream{"cuda", nullptr, nullptr, 1};
    expect_message(flashwright_gpu_forward_on_stream(&args, &stream, nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                   {"context", "current", "neither"});
    expect_message(flashwright_gpu_release(&stream), FLASHWRIGHT_INVALID_ARGUMENT, {"context"});
}

TEST_F(StreamForward, RefusalsNameWhatWasExpected) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, kShape, everything());
    const auto expect_refused = [&](flashwright_code code, const std::vector<std::string> &parts, const auto &change) {
        flashwright_forward_args args = problem.args();
        flashwright_gpu_stream stream = on(context);
        change(args, stream);
        problem.poison_outputs();
        fake_cuda::reset();
        expect_message(flashwright_gpu_forward_on_stream(&args, &stream, nullptr), code, parts);
        EXPECT_TRUE(fake_cuda::calls().empty());
        EXPECT_TRUE(problem.outputs_untouched());
    };
    expect_refused(FLASHWRIGHT_UNSUPPORTED, refusal_of_opencl(),
                   [](auto &, auto &stream) { stream.backend = "opencl"; });
    expect_refused(FLASHWRIGHT_INVALID_ARGUMENT, {"backend", "NULL"},
                   [](auto &, auto &stream) { stream.backend = nullptr; });
    expect_refused(FLASHWRIGHT_INVALID_ARGUMENT, {"k", "NULL"}, [](auto &args, auto &) { args.k.data = nullptr; });
    expect_refused(FLASHWRIGHT_UNSUPPORTED, {"v", "2^31", "extent 2", "stride 1073741824"},
                   [](auto &args, auto &) { args.v.strides[0] = std::int64_t{1} << 30; });
    expect_refused(FLASHWRIGHT_UNSUPPORTED, {"out", "2^31", "stride -1073741824"},
                   [](auto &args, auto &) { args.out.strides[0] = -(std::int64_t{1} << 30); });
    expect_refused(FLASHWRIGHT_INVALID_ARGUMENT, {"finite", "0 or 1", "2"},
                   [](auto &, auto &stream) { stream.finite = 2; });
    const flashwright_forward_args args = problem.args();
    expect_message(flashwright_gpu_forward_on_stream(&args, nullptr, nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                   {"stream", "NULL"});
}

// Each axis alone stays within 32 bits.
TEST_F(StreamForward, ElementsTooFarApart) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, {2, 4, 1, 1, 20, 64, 64});
    const flashwright_gpu_stream stream = on(context);
    for (const std::int64_t heads_apart : {500000000, -500000000}) {
        flashwright_forward_args args = problem.args();
        args.q.strides[0] = 1000000000, args.q.strides[1] = heads_apart;
        expect_message(flashwright_gpu_forward_on_stream(&args, &stream, nullptr), FLASHWRIGHT_UNSUPPORTED,
                       {"q: ", "2^31 apart", "25"});
    }
}

// NaN-safe kernels take fewer pairs of queries and keys than the others.
TEST_F(StreamForward, PairsOfQueriesAndKeys) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, {1, 32, 32, 1, 1, 64, 64});
    flashwright_forward_args args = problem.args();
    std::uintptr_t address = std::uintptr_t{1} << 40;  // of no memory: no kernel runs
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out}) {
        tensor->data = reinterpret_cast<void *>(address);
        tensor->shape[2] = 8192;
        tensor->strides[1] = 8192 * 64;
        tensor->strides[2] = 64;
        address *= 2;
    }
    args.softmax_lse = {};
    flashwright_gpu_stream stream = on(context);
    stream.finite = 0;
    expect_message(flashwright_gpu_forward_on_stream(&args, &stream, nullptr), FLASHWRIGHT_UNSUPPORTED,
                   {"k: ", "2^31 pairs", "2147483648"});
    stream.finite = 1;
    EXPECT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));
}

TEST_F(StreamForward, ReleaseThatCannotEnterTheContext) {
    const Context context, other;
    const flashwright_gpu_stream stream = on(context);
    fake_cuda::reset();
    fake_cuda::fail_after(0, 201);
    expect_message(flashwright_gpu_release(&stream), FLASHWRIGHT_DEVICE_ERROR, {"cuCtxPushCurrent"});
    EXPECT_EQ(fake_cuda::context_depth(), 2U);
}

TEST_F(StreamForward, NoGraphIsCaptured) {
    const Context context;
    Problem problem(FLASHWRIGHT_F32, kShape);
    const flashwright_forward_args args = problem.args();
    const flashwright_gpu_stream stream = on(context, fake_cuda::kCapturedStream);
    fake_cuda::reset();
    expect_message(flashwright_gpu_forward_on_stream(&args, &stream, nullptr), FLASHWRIGHT_DEVICE_ERROR,
                   {"stream: expected", "captured", "got"});
    EXPECT_EQ(fake_cuda::calls().size(), 2U);
    EXPECT_EQ(fake_cuda::context_depth(), 1U);
}

TEST_F(StreamForward, NothingToDoAsksNothingOfTheDriver) {
    const Context context;
    const flashwright_gpu_stream stream = on(context);
    for (const Shape &shape : {Shape{0, 2, 1, 3, 4, 8, 8}, Shape{1, 0, 1, 3, 4, 8, 8}, Shape{1, 2, 1, 0, 4, 8, 8}}) {
        Problem problem(FLASHWRIGHT_F32, shape);
        const flashwright_forward_args args = problem.args();
        fake_cuda::reset();
        EXPECT_TRUE(is_ok(flashwright_gpu_forward_on_stream(&args, &stream, nullptr)));
        EXPECT_TRUE(fake_cuda::calls().empty());
    }
}

TEST_F(StreamForward, EveryFailureOfTheDriverBecomesAStatus) {
    expect_every_failure_is_a_status(8, [](const flashwright_gpu_stream &stream, DeviceMemory &memory) {
        const auto problem = std::make_shared<Problem>(FLASHWRIGHT_F32, kShape, everything());
        const flashwright_forward_args args = memory.arguments(*problem);
        const auto call = [args, stream, problem] {  // which args point into
            return flashwright_gpu_forward_on_stream(&args, &stream, nullptr);
        };
        return StreamCall{call, {args.out.data, args.softmax_lse.data}};
    });
}

}  // namespace flashwright::test
