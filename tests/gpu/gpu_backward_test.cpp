// Every backward kernel of a backend over shapes with tails, options and layouts, against the gradient of exact
// attention. Gradients in f16 are rounded once from f32, and their errors at most twice those of attention that rounds
// each step to f16.
#include "gpu_test.h"
#include "tests/support/gradient.h"
#include "tests/support/options.h"
#include "tests/support/random_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <thread>

namespace flashwright::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Options causal_top_left() {
    return options_with([](Options &o) { o.causal = true; });
}

flashwright_status run_backward_on_gpu(GradientProblem &problem, const char **kernel = nullptr) {
    problem.poison_outputs();
    const flashwright_backward_args args = problem.args();
    return flashwright_gpu_backward(&args, backend(), kernel);
}

// Forward is the CPU's, where it has the dtype.
flashwright_status run_forward(Problem &problem) {
    if (problem.dtype != FLASHWRIGHT_F16) return run(problem);
    problem.poison_outputs();
    const flashwright_forward_args args = problem.args();
    return flashwright_gpu_forward(&args, backend(), nullptr);
}

flashwright_status run_on_gpu(GradientProblem &problem, const char **kernel = nullptr) {
    const flashwright_status status = run_forward(problem.forward);
    return status.code == FLASHWRIGHT_OK ? run_backward_on_gpu(problem, kernel) : status;
}

// Which kernels of a dtype ran: all of them must have, in the end.
std::set<std::string> &kernels_that_ran(flashwright_dtype dtype) {
    static std::map<flashwright_dtype, std::set<std::string>> names;
    return names[dtype];
}

bool all_finite(const Tensor &tensor) {
    const std::vector<double> values = tensor.values();
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

// What the gradients must be close to: f16 has an out that is rounded.
ReferenceGradient expected_gradient(const GradientProblem &problem) {
    const std::vector<double> dout = problem.dout.values();
    return problem.forward.dtype == FLASHWRIGHT_F16 ? reference_backward_from_out(problem.forward, dout)
                                                    : reference_backward(problem.forward, dout);
}

void expect_twice_the_plain_error(const GradientProblem &problem) {
    const std::vector<double> dout = problem.dout.values();
    const ReferenceGradient expected = reference_backward(problem.forward, dout),
                            plain = plain_backward(problem.forward, dout);
    const auto check = [](const char *name, const Tensor &actual, const std::vector<double> &right,
                          const std::vector<double> &rounded, double unit) {
        if (!actual.given()) return;
        EXPECT_LE(largest_error(actual.values(), right),
                  2 * largest_error(rounded, right) + gradient_tolerance(FLASHWRIGHT_F32) * unit)
            << name;
    };
    check("dq", problem.dq, expected.dq, plain.dq, expected.dq_unit);
    check("dk", problem.dk, expected.dk, plain.dk, expected.dk_unit);
    check("dv", problem.dv, expected.dv, plain.dv, expected.dv_unit);
    check("dbias", problem.dbias, expected.dbias, plain.dbias, expected.dbias_unit);
}

void check_on_gpu(GradientProblem &problem) {
    SCOPED_TRACE(problem.describe());
    const char *kernel = "";
    const flashwright_status status = run_on_gpu(problem, &kernel);
    if (refused(status)) {
        const Options &o = problem.forward.options;
        EXPECT_TRUE(o.softcap > 0 || o.bias || o.mask || o.alibi || !all_finite(problem.forward.k));
        return;
    }
    ASSERT_TRUE(is_ok(status));
    EXPECT_TRUE(gradients_match(problem, expected_gradient(problem)));
    if (problem.forward.dtype == FLASHWRIGHT_F16) expect_twice_the_plain_error(problem);
    kernels_that_ran(problem.forward.dtype).insert(kernel);
}

void set_row(Tensor &tensor, std::int64_t row, double value) {
    for (std::int64_t c = 0; c < tensor.shape()[3]; c++) tensor.set({0, 0, row, c}, value);
}

// The same elements are NaN or infinite, and the others are right.
void expect_same_garbage(const Tensor &actual, const std::vector<double> &expected) {
    const double step = actual.dtype() == FLASHWRIGHT_F16 ? std::ldexp(1, -11) : 0;
    double largest = 0;
    for (const double value : expected) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    const std::vector<double> values = actual.values();
    for (std::size_t n = 0; n < expected.size(); n++) {
        ASSERT_EQ(std::isfinite(values[n]), std::isfinite(expected[n])) << n;
        if (std::isfinite(expected[n])) {
            ASSERT_NEAR(values[n], expected[n],
                        gradient_tolerance(FLASHWRIGHT_F32) * largest + step * std::fabs(expected[n]))
                << n;
        }
    }
}

}  // namespace

class GpuBackward : public GpuTest, public ::testing::WithParamInterface<flashwright_dtype> {
 protected:
    static GradientProblem gpu_problem(const Shape &shape, const Options &options = {}, const Layout &layout = {},
                                       const GradientLayout &gradients = {}) {
        return {GetParam(), shape, options, layout, gradients};
    }
};

INSTANTIATE_TEST_SUITE_P(, GpuBackward, ::testing::Values(FLASHWRIGHT_F32, FLASHWRIGHT_F16),
                         [](const auto &dtype) { return dtype.param == FLASHWRIGHT_F16 ? "f16" : "f32"; });

TEST_P(GpuBackward, EveryOption) {
    for (const Options &options : option_table()) {
        GradientProblem problem = gpu_problem({2, 4, 2, 37, 50, 20, 11}, options);
        check_on_gpu(problem);
        if (HasFailure()) return;
    }
}

TEST_P(GpuBackward, EveryKernelWithTailsOnEveryAxis) {
    const Options windowed = options_with([](Options &o) {
        o.window_left = 20, o.window_right = 9, o.key_fractions = {0.8, 0.3};
    });
    for (const int head_dim : head_dims(kGpuBackwardKernels, kGpuBackwardKernelCount, GetParam())) {
        const Shape shapes[] = {{1, 1, 1, 1, 1, head_dim, head_dim},
                                {2, 2, 1, 129, 47, head_dim - 3, head_dim},
                                {1, 2, 2, 5, 131, 7, head_dim - 1},
                                {1, 1, 1, 140, 150, head_dim, 1}};
        for (const Options &options : {Options{}, causal_top_left(), windowed, everything()}) {
            for (const Shape &shape : shapes) {
                GradientProblem problem = gpu_problem(shape, options);
                check_on_gpu(problem);
            }
        }
        // A key that is masked for every row.
        GradientProblem problem = gpu_problem({1, 2, 1, 40, 90, head_dim, head_dim}, causal_top_left());
        set_row(problem.forward.k, 60, kNaN);
        check_on_gpu(problem);
    }
    expect_all_ran(kGpuBackwardKernels, kGpuBackwardKernelCount, kernels_that_ran(GetParam()), GetParam());
}

TEST_P(GpuBackward, BiasesOfEveryShape) {
    for (int repeated = 0; repeated < 8; repeated++) {
        for (const bool by_stride : {false, true}) {
            Options options = repeated % 2 ? causal_top_left() : everything();
            options.bias = Coverage{(repeated & 1) == 0, (repeated & 2) == 0, (repeated & 4) == 0, by_stride};
            options.bias_masks = true;
            GradientProblem problem = gpu_problem({2, 4, 2, 33, 70, 20, 11}, options);
            check_on_gpu(problem);
            problem.dbias = Tensor();
            check_on_gpu(problem);
        }
    }
    Options row;
    row.bias = Coverage{false, false, false, false, 1};
    GradientProblem problem = gpu_problem({3, 2, 1, 5, 9, 100, 100}, row);
    check_on_gpu(problem);
}

TEST_P(GpuBackward, GroupedHeadsAndLayouts) {
    for (const auto &[heads, heads_kv] : {std::pair{6, 2}, {7, 1}, {12, 4}}) {
        for (const Options &options : {Options{}, everything()}) {
            GradientProblem problem = gpu_problem({2, heads, heads_kv, 17, 19, 8, 8}, options);
            check_on_gpu(problem);
        }
    }
    for (const Form form :
         {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed, Form::odd_ones}) {
        GradientProblem problem =
            gpu_problem({2, 4, 2, 9, 21, 17, 19}, everything(), {form, form, form, form}, {form, form, form, form});
        check_on_gpu(problem);
    }
}

TEST_P(GpuBackward, RandomShapesAndOptions) {
    RandomProblems random;
    const int problems = RandomProblems::count(60);
    for (int n = 0; n < problems; n++) {
        const Shape shape = random.shape();
        const Options options = random.options(shape, random.chance(50));
        GradientProblem problem = gpu_problem(
            shape, options, {random.input_form(), random.input_form(), random.input_form(), random.output_form()},
            {random.input_form(), random.output_form(), random.output_form(), random.output_form()});
        SCOPED_TRACE("problem " + std::to_string(n));
        check_on_gpu(problem);
        if (HasFailure()) return;
    }
}

// A masked operand has no effect, whatever it holds. An unmasked one affects the rows and keys that use it, and no
// others.
TEST_P(GpuBackward, GarbageStaysInUnmaskedPairs) {
    for (const double garbage : {kNaN, kInfinity, -kInfinity}) {
        SCOPED_TRACE(garbage);
        for (const bool of_key : {true, false}) {
            GradientProblem problem = gpu_problem({1, 1, 1, 70, 70, 16, 16}, causal_top_left());
            set_row(of_key ? problem.forward.v : problem.dout, of_key ? 69 : 0, garbage);
            ASSERT_TRUE(is_ok(run_on_gpu(problem)));
            const ReferenceGradient expected = expected_gradient(problem);
            expect_same_garbage(problem.dq, expected.dq);
            expect_same_garbage(problem.dk, expected.dk);
            expect_same_garbage(problem.dv, expected.dv);
        }
        Options lengths;
        lengths.key_fractions = {0.5};
        GradientProblem past_the_end = gpu_problem({1, 1, 1, 3, 40, 16, 16}, lengths);
        for (std::int64_t j = 20; j < 40; j++) {
            set_row(past_the_end.forward.k, j, garbage), set_row(past_the_end.forward.v, j, garbage);
        }
        check_on_gpu(past_the_end);
    }
}

// Nor does it leave its batch entry, or the heads that share keys with it.
TEST_P(GpuBackward, GarbageStaysInItsHeads) {
    for (const Options &options : {causal_top_left(), everything()}) {
        for (const bool of_key : {true, false}) {
            GradientProblem problem = gpu_problem({2, 4, 2, 40, 45, 16, 16}, options);
            SCOPED_TRACE(problem.describe() + (of_key ? " v" : " dout"));
            Tensor &tensor = of_key ? problem.forward.v : problem.dout;
            for (std::int64_t row = 0; row < 40; row++) tensor.set({1, 1, row, 3}, kNaN);
            ASSERT_TRUE(is_ok(run_on_gpu(problem)));
            const ReferenceGradient expected = expected_gradient(problem);
            expect_same_garbage(problem.dq, expected.dq);
            expect_same_garbage(problem.dk, expected.dk);
            expect_same_garbage(problem.dv, expected.dv);
        }
    }
}

TEST_P(GpuBackward, KeysMaskedByAMaskMayHoldAnything) {
    for (const double garbage : {kNaN, kInfinity}) {
        GradientProblem problem =
            gpu_problem({1, 2, 1, 70, 65, 8, 8}, options_with([](Options &o) { o.mask = Coverage{}; }));
        problem.forward.mask.assign([](std::int64_t n) { return n % 65 != 30; });
        set_row(problem.forward.k, 30, garbage), set_row(problem.forward.v, 30, garbage);
        check_on_gpu(problem);
    }
}

TEST_P(GpuBackward, FullyMaskedRow) {
    Options options;
    options.mask = Coverage{};
    for (const double garbage : {0.5, kNaN}) {
        GradientProblem problem = gpu_problem({1, 1, 1, 70, 65, 3, 5}, options);
        problem.forward.mask.assign([](std::int64_t n) { return n / 65 != 66; });
        set_row(problem.forward.q, 66, garbage), set_row(problem.dout, 66, garbage);
        check_on_gpu(problem);
        for (std::int64_t d = 0; d < 3; d++) EXPECT_EQ(problem.dq.get({0, 0, 66, d}), 0);
    }
}

// Also by a bias of -infinity, and by a window.
TEST_P(GpuBackward, MaskedKeysMayHoldAnything) {
    Options biased;
    biased.bias = Coverage{};
    GradientProblem by_bias = gpu_problem({1, 2, 1, 70, 65, 8, 8}, biased);
    by_bias.forward.bias.assign([](std::int64_t n) { return n % 65 == 7 ? -kInfinity : 0.25; });
    set_row(by_bias.forward.k, 7, kNaN), set_row(by_bias.forward.v, 7, kInfinity);
    check_on_gpu(by_bias);
    GradientProblem by_window =
        gpu_problem({1, 1, 1, 40, 70, 8, 8}, options_with([](Options &o) { o.window_right = 3; }));
    for (std::int64_t j = 43; j < 70; j++) set_row(by_window.forward.k, j, kNaN), set_row(by_window.forward.v, j, kNaN);
    check_on_gpu(by_window);
}

TEST_P(GpuBackward, LongSums) {
    GradientProblem problem = gpu_problem({1, 1, 1, 2048, 512, 8, 8});
    for (Tensor *tensor : {&problem.forward.q, &problem.forward.k}) tensor->assign([](std::int64_t) { return 0; });
    problem.dout.assign([](std::int64_t) { return 1; });
    check_on_gpu(problem);
}

TEST_P(GpuBackward, NoPairs) {
    for (const Shape &shape : {Shape{1, 2, 1, 3, 0, 8, 8}, Shape{1, 2, 1, 0, 4, 8, 8}, Shape{1, 0, 1, 3, 4, 8, 8},
                               Shape{0, 2, 1, 3, 4, 8, 8}}) {
        for (const bool biased : {false, true}) {
            Options options;
            if (biased) options.bias = Coverage{false, false, false};
            GradientProblem problem = gpu_problem(shape, options);
            check_on_gpu(problem);
        }
    }
}

TEST_P(GpuBackward, TheSameBytesEveryTime) {
    for (const Options &options : {Options{}, everything()}) {
        GradientProblem problem = gpu_problem({2, 4, 2, 130, 257, 40, 40}, options);
        ASSERT_TRUE(is_ok(run_on_gpu(problem)));
        const std::string first = problem.output_bytes();
        for (int n = 0; n < 3; n++) {
            ASSERT_TRUE(is_ok(run_backward_on_gpu(problem)));
            EXPECT_EQ(problem.output_bytes(), first);
        }
    }
}

// Shapes and options of their own, forward and backward in turn.
TEST_P(GpuBackward, FromSeveralThreadsAtOnce) {
    constexpr int kThreads = 4, kRounds = 3;
    const Options options[kThreads] = {{}, causal_top_left(), everything(), {}};
    std::vector<std::thread> threads;
    for (int n = 0; n < kThreads; n++) {
        threads.emplace_back([n, &options = options[n]] {
            GradientProblem problem = gpu_problem({1, 2, 1, 70 + 9 * n, 60 + 20 * n, 8 + 17 * n, 8 + 17 * n}, options);
            const ReferenceGradient expected = [&] {
                EXPECT_TRUE(is_ok(run_forward(problem.forward)));
                return expected_gradient(problem);
            }();
            for (int round = 0; round < kRounds; round++) {
                problem.forward.poison_outputs();
                const flashwright_forward_args args = problem.forward.args();
                EXPECT_TRUE(is_ok(flashwright_gpu_forward(&args, backend(), nullptr)));
                EXPECT_TRUE(is_ok(run_backward_on_gpu(problem)));
                EXPECT_TRUE(gradients_match(problem, expected)) << problem.describe();
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
}

TEST(GpuBackwardRefusals, NameWhatWasExpected) {
    const auto expect_refused = [](GradientProblem problem, flashwright_code code,
                                   const std::vector<std::string> &parts) {
        expect_message(run_backward_on_gpu(problem), code, parts);
        EXPECT_TRUE(problem.outputs_untouched());
    };
    const Shape shape{1, 1, 1, 2, 2, 8, 8};
    expect_refused({FLASHWRIGHT_F64, shape}, FLASHWRIGHT_UNSUPPORTED,
                   {"q", "expected dtype f32 or f16, all", "f64", backend()});
    for (const flashwright_dtype dtype : {FLASHWRIGHT_F32, FLASHWRIGHT_F16}) {
        expect_refused({dtype, {1, 1, 1, 2, 2, 129, 8}}, FLASHWRIGHT_UNSUPPORTED, {"q", "128", "129"});
        expect_refused({dtype, {1, 1, 1, 2, 2, 8, 200}}, FLASHWRIGHT_UNSUPPORTED, {"v", "128", "200"});
    }
    expect_refused({FLASHWRIGHT_F32, {65536, 1, 1, 1, 1, 1, 1}}, FLASHWRIGHT_UNSUPPORTED, {"q", "65535", "65536"});
    expect_refused({FLASHWRIGHT_F32, {256, 256, 256, 1, 1, 1, 1}}, FLASHWRIGHT_UNSUPPORTED, {"k", "65535", "65536"});
    GradientProblem problem(FLASHWRIGHT_F32, shape);
    const flashwright_backward_args args = problem.args();
    expect_message(flashwright_gpu_backward(&args, "metal", nullptr), FLASHWRIGHT_UNSUPPORTED, {"backend", "metal"});
    expect_message(flashwright_gpu_backward(&args, nullptr, nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                   {"backend", "NULL"});
    expect_message(flashwright_gpu_backward(nullptr, backend(), nullptr), FLASHWRIGHT_INVALID_ARGUMENT, {"args"});
}

// Each tensor has the dtype of q, but softmax_lse and alibi_slopes f32.
TEST(GpuBackwardRefusals, NameTheTensorOfAnotherDtype) {
    GradientProblem problem(FLASHWRIGHT_F16, {1, 1, 1, 2, 2, 8, 8}, everything());
    problem.poison_outputs();
    flashwright_backward_args args = problem.args();
    flashwright_tensor slopes = *args.score.alibi_slopes;
    const auto expect_refused = [&](flashwright_tensor &tensor, flashwright_dtype wrong, const char *name) {
        const flashwright_dtype right = tensor.dtype;
        tensor.dtype = wrong;
        expect_message(flashwright_gpu_backward(&args, backend(), nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                       {name, right == FLASHWRIGHT_F16 ? "expected dtype f16" : "expected dtype f32"});
        EXPECT_TRUE(problem.outputs_untouched());
        tensor.dtype = right;
    };
    args.score.alibi_slopes = &slopes;
    for (const auto &[tensor, name] : {std::pair{&args.out, "out"},
                                       {&args.dout, "dout"},
                                       {&args.dq, "dq"},
                                       {&args.dk, "dk"},
                                       {&args.dv, "dv"},
                                       {&args.dbias, "dbias"}}) {
        expect_refused(*tensor, FLASHWRIGHT_F32, name);
    }
    expect_refused(args.softmax_lse, FLASHWRIGHT_F16, "softmax_lse");
    expect_refused(slopes, FLASHWRIGHT_F16, "alibi_slopes");
    expect_message(flashwright_backward(&args, nullptr), FLASHWRIGHT_UNSUPPORTED, {"backward", "f16"});
    EXPECT_TRUE(problem.outputs_untouched());
}

}  // namespace flashwright::test
