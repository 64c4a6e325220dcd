// What calls on tensors in device memory give, by CUDA alone.
#include "device_memory.h"
#include "gpu_test.h"
#include "tests/support/check.h"
#include "tests/support/options.h"

#include <cmath>
#include <string>

namespace flashwright::test {
namespace {

flashwright_status run_on_stream(Problem &problem, bool finite = true) {
    const Context context;
    const Stream on;
    const flashwright_gpu_stream stream{"cuda", context.handle(), on.handle(), finite ? 1 : 0};
    DeviceMemory memory;
    problem.poison_outputs();
    const flashwright_forward_args args = memory.arguments(problem);
    const flashwright_status status = flashwright_gpu_forward_on_stream(&args, &stream, nullptr);
    on.wait();
    memory.bring_back();
    return status;
}

void expect_exact_on_stream(Problem problem, bool finite = true) {
    SCOPED_TRACE(problem.describe());
    ASSERT_TRUE(is_ok(run_on_stream(problem, finite)));
    EXPECT_TRUE(outputs_match(problem, reference_forward(problem)));
}

// f16 is computed in f32, and rounded once.
void expect_exact_halves_on_stream(Problem problem) {
    SCOPED_TRACE(problem.describe());
    ASSERT_TRUE(is_ok(run_on_stream(problem)));
    const ReferenceAttention expected = reference_forward(problem);
    const double near = forward_tolerance(FLASHWRIGHT_F32);
    EXPECT_TRUE(half_values_match(problem.out.values(), expected.out, near));
    EXPECT_TRUE(problem.out.fully_written() && problem.out.gaps_intact());
    EXPECT_TRUE(lse_matches(problem.lse.values(), expected.softmax_lse, near));
}

flashwright_status run_on_stream(GradientProblem &problem, bool finite = true) {
    const Context context;
    const Stream on;
    const flashwright_gpu_stream stream{"cuda", context.handle(), on.handle(), finite ? 1 : 0};
    DeviceMemory memory;
    if (problem.forward.dtype == FLASHWRIGHT_F16) {  // no kernels of the CPU's
        const ReferenceAttention expected = reference_forward(problem.forward);
        const auto value_of = [](const std::vector<double> &values) {
            return [&values](std::int64_t n) { return values[static_cast<std::size_t>(n)]; };
        };
        problem.forward.out.assign(value_of(expected.out)), problem.forward.lse.assign(value_of(expected.softmax_lse));
    } else if (const flashwright_status forward = run(problem.forward); forward.code != FLASHWRIGHT_OK) {
        return forward;
    }
    problem.poison_outputs();
    const flashwright_backward_args args = memory.arguments(problem);
    const flashwright_status status = flashwright_gpu_backward_on_stream(&args, &stream, nullptr);
    on.wait();
    memory.bring_back();
    return status;
}

void expect_exact_on_stream(GradientProblem problem, bool finite = true) {
    SCOPED_TRACE(problem.describe());
    ASSERT_TRUE(is_ok(run_on_stream(problem, finite)));
    EXPECT_TRUE(gradients_match(problem, reference_backward_from_out(problem.forward, problem.dout.values())));
}

GradientProblem gradient_problem(const Shape &shape, const Options &options = {}, const Layout &layout = {},
                                 const GradientLayout &gradients = {}) {
    return {FLASHWRIGHT_F32, shape, options, layout, gradients};
}

Options causal() {
    return options_with([](Options &o) { o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
}

// A bias and a mask whose keys do not lie next to each other.
Options with_strides() {
    return options_with([](Options &o) {
        o.bias = Coverage{true, false, true, false, 4, -1}, o.mask = Coverage{false, true, true, false, 4, 2};
    });
}

// One batch entry has no keys.
Options lengths() {
    return options_with([](Options &o) { o.window_left = 20, o.key_fractions = {0.8, 0}; });
}

}  // namespace

class StreamValues : public GpuTest {
 protected:
    void SetUp() override {
        if (std::string(backend()) != "cuda") GTEST_SKIP() << "tensors in device memory are CUDA's";
        GpuTest::SetUp();
    }
};

TEST_F(StreamValues, ForwardIsExact) {
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 2, 1, 128, 48, 32, 32}});  // in place
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 2, 1, 5, 37, 20, 11}, causal()});
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {2, 1, 1, 7, 41, 64, 64}, lengths()});
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 1, 1, 3, 21, 128, 100}});
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 2, 2, 3, 0, 8, 8}});
    for (const Form form :
         {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed, Form::odd_ones}) {
        expect_exact_on_stream(
            Problem{FLASHWRIGHT_F32, {2, 2, 1, 3, 5, 6, 7}, {}, {form, form, form, form, Place::margins, 2}});
    }
}

// Threads share the channels of a row, two and four.
TEST_F(StreamValues, ChannelsOfSeveralThreads) {
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 2, 1, 64, 40, 128, 128}});  // in place
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 2, 1, 3, 21, 250, 253}});
    const Form form = Form::channel_gap;
    expect_exact_on_stream(Problem{FLASHWRIGHT_F32, {1, 1, 1, 2, 5, 130, 129}, {}, {form, form, form, form}});
}

TEST_F(StreamValues, HalvesAreExact) {
    expect_exact_halves_on_stream(Problem{FLASHWRIGHT_F16, {1, 2, 1, 128, 48, 64, 64}});  // in place
    expect_exact_halves_on_stream(Problem{FLASHWRIGHT_F16, {1, 2, 1, 5, 37, 20, 11}, causal()});
    expect_exact_halves_on_stream(Problem{FLASHWRIGHT_F16, {1, 1, 1, 3, 21, 128, 100}});
    expect_exact_halves_on_stream(Problem{FLASHWRIGHT_F16, {2, 4, 2, 7, 21, 20, 11}, everything()});
    for (const Form form : {Form::transposed, Form::channel_gap, Form::reversed}) {
        expect_exact_halves_on_stream(
            Problem{FLASHWRIGHT_F16, {2, 2, 1, 3, 5, 6, 7}, with_strides(), {form, form, form, form}});
    }
}

TEST_F(StreamValues, BackwardIsExact) {
    expect_exact_on_stream(gradient_problem({1, 4, 2, 5, 37, 20, 11}, causal()));
    expect_exact_on_stream(gradient_problem({2, 1, 1, 7, 41, 64, 64}, lengths()));
    expect_exact_on_stream(gradient_problem({1, 1, 1, 3, 21, 128, 100}));
    for (const Shape &no_pairs : {Shape{1, 2, 1, 3, 0, 8, 8}, Shape{1, 2, 1, 0, 4, 8, 8}, Shape{1, 0, 1, 3, 4, 8, 8}}) {
        expect_exact_on_stream(gradient_problem(no_pairs));
    }
    for (const Form form : {Form::transposed, Form::reversed}) {
        expect_exact_on_stream(gradient_problem({2, 2, 1, 3, 5, 6, 7}, {}, {form, form, form, form, Place::margins, 2},
                                                {form, form, form, form}));
    }
}

TEST_F(StreamValues, BackwardOfHalvesIsExact) {
    const auto halves = [](const Shape &shape, const Options &options, Form form = Form::contiguous) {
        return GradientProblem(FLASHWRIGHT_F16, shape, options, {form, form, form, form}, {form, form, form, form});
    };
    expect_exact_on_stream(halves({1, 4, 2, 5, 37, 20, 11}, causal()));
    expect_exact_on_stream(halves({1, 1, 1, 3, 21, 128, 100}, lengths()));
    expect_exact_on_stream(halves({1, 2, 1, 3, 0, 8, 8}, {}));
    expect_exact_on_stream(halves({2, 4, 2, 7, 21, 20, 11}, everything()), false);
    GradientProblem reversed = halves({2, 2, 1, 3, 5, 6, 7}, with_strides(), Form::reversed);
    const std::vector<std::int64_t> shape = reversed.dbias.shape();
    reversed.dbias = Tensor(FLASHWRIGHT_F16, shape, strides_of(Form::transposed, shape));
    expect_exact_on_stream(reversed);
}

TEST_F(StreamValues, EveryTermIsTaken) {
    for (const bool finite : {true, false}) {
        expect_exact_on_stream(Problem(FLASHWRIGHT_F32, {2, 4, 2, 7, 21, 20, 11}, everything()), finite);
    }
    expect_exact_on_stream(gradient_problem({2, 4, 2, 7, 21, 20, 11}, everything()), false);
    const Options broadcast = options_with([](Options &o) {
        o.bias = Coverage{false, true, false}, o.mask = Coverage{true, false, true}, o.alibi = true;
    });
    expect_exact_on_stream(Problem(FLASHWRIGHT_F32, {2, 2, 1, 5, 19, 6, 7}, broadcast));
    expect_exact_on_stream(Problem(FLASHWRIGHT_F32, {2, 2, 1, 5, 19, 6, 7}, with_strides()));
    expect_exact_on_stream(gradient_problem({2, 2, 1, 5, 19, 6, 7}, broadcast));
}

// Where the caller does not say that all is finite.
TEST_F(StreamValues, MaskedKeysMayHoldAnything) {
    constexpr std::int64_t kKeys = 21, kNobodys = 13;
    for (const double garbage : {std::nan(""), HUGE_VAL}) {
        GradientProblem problem =
            gradient_problem({1, 2, 1, 7, kKeys, 8, 8}, options_with([](Options &o) { o.mask = Coverage{}; }));
        problem.forward.mask.assign([](std::int64_t n) { return n % kKeys != kNobodys; });
        for (Tensor *tensor : {&problem.forward.k, &problem.forward.v}) {
            for (std::int64_t c = 0; c < 8; c++) tensor->set({0, 0, kNobodys, c}, garbage);
        }
        expect_exact_on_stream(problem.forward, false);
        expect_exact_on_stream(problem, false);
    }
}

// Over every set of axes that the bias repeats, with more keys and rows than a thread block has.
TEST_F(StreamValues, BiasGradientsOfEveryShape) {
    for (int repeated = 0; repeated < 8; repeated++) {
        Options options = repeated % 2 == 0 ? causal() : Options{};
        options.bias = Coverage{(repeated & 1) == 0, (repeated & 2) == 0, (repeated & 4) == 0};
        options.bias_masks = true;
        GradientProblem problem = gradient_problem({2, 2, 1, 9, 35, 6, 7}, options);
        const std::vector<std::int64_t> shape = problem.dbias.shape();
        const Form form = repeated % 3 == 0 ? Form::reversed : Form::transposed;
        problem.dbias = Tensor(FLASHWRIGHT_F32, shape, strides_of(form, shape));
        expect_exact_on_stream(problem);
    }
    Options fewer_axes;
    fewer_axes.bias = Coverage{false, false, false, false, 1};
    expect_exact_on_stream(gradient_problem({3, 2, 1, 5, 9, 100, 100}, fewer_axes));
}

// Tensors are filled between calls, which run on host memory, device memory and the CPU in turn.
TEST_F(StreamValues, EachCallSeesWhatTensorsHoldThen) {
    Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 1, 3, 1, 1});
    problem.q.assign([](std::int64_t) { return 0; });
    problem.k.assign([](std::int64_t) { return 0; });
    for (const double factor : {1.0, 10.0}) {
        problem.v.assign([=](std::int64_t n) { return factor * static_cast<double>(n); });
        problem.poison_outputs();
        const flashwright_forward_args args = problem.args();
        ASSERT_TRUE(is_ok(flashwright_gpu_forward(&args, "cuda", nullptr)));
        EXPECT_FLOAT_EQ(static_cast<float>(problem.out.get({0, 0, 0, 0})), static_cast<float>(factor));
        ASSERT_TRUE(is_ok(run_on_stream(problem)));
        EXPECT_FLOAT_EQ(static_cast<float>(problem.out.get({0, 0, 0, 0})), static_cast<float>(factor));
        ASSERT_TRUE(is_ok(run(problem)));
        EXPECT_FLOAT_EQ(static_cast<float>(problem.out.get({0, 0, 0, 0})), static_cast<float>(factor));
    }
}

}  // namespace flashwright::test
