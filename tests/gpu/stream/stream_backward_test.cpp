// Backward on tensors in device memory, by a driver that writes down what is asked of it.
#include "stream_checks.h"

namespace flashwright::test {
namespace {

constexpr Shape kShape{2, 4, 2, 37, 50, 20, 11};

}  // namespace

class StreamBackward : public StreamTest {};

TEST_F(StreamBackward, EnqueuesAndSendsNoTensor) {
    const struct {
        flashwright_dtype dtype;
        bool with_terms;
        const char *kernel;
    } cases[] = {{FLASHWRIGHT_F32, true, "backward_softcap_alibi_bias_mask_f32_cuda_d64_nansafe"},
                 {FLASHWRIGHT_F32, false, "backward_f32_cuda_d32"},
                 {FLASHWRIGHT_F16, true, "backward_softcap_alibi_bias_mask_f16_cuda_d64_nansafe"},
                 {FLASHWRIGHT_F16, false, "backward_f16_cuda_d64"}};
    for (const auto &[dtype, with_terms, expected] : cases) {
        const Context context;  // kernels are loaded anew
        const flashwright_gpu_stream stream = on(context);
        GradientProblem problem(dtype, kShape, with_terms ? everything() : Options{});
        DeviceMemory memory;
        const flashwright_backward_args args = memory.arguments(problem);
        fake_cuda::reset();
        const char *kernel = nullptr;
        ASSERT_TRUE(is_ok(flashwright_gpu_backward_on_stream(&args, &stream, &kernel)));
        EXPECT_STREQ(kernel, expected);
        if (with_terms) {
            // q, dout, k, v, bias, mask; their columns, terms; three passes; dq, dk, dv, dbias.
            expect_enqueued_alone(context, 9, 16);
        } else {
            EXPECT_EQ(calls_of("cuLaunchKernel").size(), 11U);
        }
        EXPECT_EQ(calls_of("cuMemcpyHtoDAsync").size(), 1U);
        EXPECT_LT(calls_of("cuMemcpyHtoDAsync")[0].bytes, memory.largest());
    }
}

TEST_F(StreamBackward, RefusalsNameWhatWasExpected) {
    const Context context;
    GradientProblem problem(FLASHWRIGHT_F32, kShape, everything());
    const auto expect_refused = [&](flashwright_code code, const std::vector<std::string> &parts, const auto &change) {
        flashwright_backward_args args = problem.args();
        flashwright_gpu_stream stream = on(context);
        change(args, stream);
        problem.poison_outputs();
        fake_cuda::reset();
        expect_message(flashwright_gpu_backward_on_stream(&args, &stream, nullptr), code, parts);
        EXPECT_TRUE(fake_cuda::calls().empty());
        EXPECT_TRUE(problem.outputs_untouched());
    };
    expect_refused(FLASHWRIGHT_UNSUPPORTED, refusal_of_opencl(),
                   [](auto &, auto &stream) { stream.backend = "opencl"; });
    expect_refused(FLASHWRIGHT_UNSUPPORTED, {"dk", "2^31", "stride 1073741824"},
                   [](auto &args, auto &) { args.dk.strides[0] = std::int64_t{1} << 30; });
    expect_refused(FLASHWRIGHT_UNSUPPORTED, {"dbias", "2^31", "stride -1073741824"},
                   [](auto &args, auto &) { args.dbias.strides[0] = -(std::int64_t{1} << 30); });
    expect_refused(FLASHWRIGHT_INVALID_ARGUMENT, {"dout", "NULL"},
                   [](auto &args, auto &) { args.dout.data = nullptr; });
}

TEST_F(StreamBackward, EveryFailureOfTheDriverBecomesAStatus) {
    expect_every_failure_is_a_status(16, [](const flashwright_gpu_stream &stream, DeviceMemory &memory) {
        const auto problem = std::make_shared<GradientProblem>(FLASHWRIGHT_F32, kShape, everything());
        const flashwright_backward_args args = memory.arguments(*problem);
        const auto call = [args, stream, problem] {  // which args point into
            return flashwright_gpu_backward_on_stream(&args, &stream, nullptr);
        };
        return StreamCall{call, {args.dq.data, args.dk.data, args.dv.data, args.dbias.data}};
    });
}

}  // namespace flashwright::test
