// Every forward kernel of a backend over shapes with tails, options and layouts, against exact attention.
#include "gpu_test.h"
#include "tests/support/check.h"
#include "tests/support/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Which kernels ran: all of them must have, in the end.
std::set<std::string> &kernels_that_ran() {
    static std::set<std::string> names;
    return names;
}

void check_on_gpu(Problem &problem) {
    SCOPED_TRACE(problem.describe());
    const char *kernel = "";
    const flashwright_status status = run_on_gpu(problem, &kernel);
    if (refused(status)) {
        const std::vector<double> v = problem.v.values();
        EXPECT_TRUE(problem.options.softcap > 0 ||
                    std::any_of(v.begin(), v.end(), [](double x) { return std::isnan(x); }));
        return;
    }
    ASSERT_TRUE(is_ok(status));
    EXPECT_TRUE(outputs_match(problem, reference_forward(problem)));
    kernels_that_ran().insert(kernel);
}

}  // namespace

class GpuForward : public GpuTest {};

TEST_F(GpuForward, EveryOption) {
    for (const Options &options : option_table()) {
        Problem problem(FLASHWRIGHT_F32, {2, 4, 2, 37, 50, 20, 11}, options);
        check_on_gpu(problem);
        if (HasFailure()) return;
    }
}

TEST_F(GpuForward, EveryKernelWithTailsOnEveryAxis) {
    const Options causal = options_with([](Options &o) { o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    const Options windowed = options_with([](Options &o) {
        o.window_left = 20, o.window_right = 9, o.key_fractions = {0.8, 0.3};
    });
    Options all = everything();
    if (std::string(backend()) == "vulkan") all.softcap = 0, all.softmax_scale.reset();
    for (const int head_dim : head_dims(kGpuKernels, kGpuKernelCount)) {
        const Shape shapes[] = {{1, 1, 1, 1, 1, head_dim, head_dim},
                                {2, 2, 1, 129, 47, head_dim - 3, head_dim},
                                {1, 2, 2, 5, 131, 7, head_dim - 1},
                                {1, 1, 1, 140, 150, head_dim, 1}};
        for (const Options &options : {Options{}, causal, windowed, all}) {
            for (const Shape &shape : shapes) {
                Problem problem(FLASHWRIGHT_F32, shape, options);
                check_on_gpu(problem);
                problem.v.set({0, 0, shape.seqlen_k / 3, 0}, kNaN);
                check_on_gpu(problem);
            }
        }
    }
    expect_all_ran(kGpuKernels, kGpuKernelCount, kernels_that_ran());
}

TEST_F(GpuForward, GroupedHeadsAndLayouts) {
    for (const auto &[heads, heads_kv] : {std::pair{6, 2}, {6, 1}, {7, 1}, {12, 4}}) {
        Problem problem(FLASHWRIGHT_F32, {2, heads, heads_kv, 17, 19, 8, 8});
        check_on_gpu(problem);
    }
    for (const Form form :
         {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed, Form::odd_ones}) {
        for (const Options &options : {Options{}, everything()}) {
            Problem problem(FLASHWRIGHT_F32, {2, 4, 2, 9, 21, 17, 19}, options, {form, form, form, form});
            check_on_gpu(problem);
        }
    }
}

TEST_F(GpuForward, MaskedNaNHasNoEffect) {
    for (const double garbage : {kNaN, kInfinity}) {
        const Options causal = options_with([](Options &o) { o.causal = true; });
        Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 70, 70, 16, 16}, causal);
        for (std::int64_t d = 0; d < 16; d++) problem.v.set({0, 0, 40, d}, garbage);
        SCOPED_TRACE(problem.describe());
        ASSERT_TRUE(is_ok(run_on_gpu(problem)));
        for (std::int64_t i = 0; i < 70; i++) {
            EXPECT_EQ(std::isfinite(problem.out.get({0, 0, i, 3})), i < 40) << i;
        }
    }
    Options lengths;
    lengths.key_fractions = {0.5};
    Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 3, 40, 16, 16}, lengths);
    for (std::int64_t j = 20; j < 40; j++) {
        for (std::int64_t d = 0; d < 16; d++) problem.k.set({0, 0, j, d}, kNaN), problem.v.set({0, 0, j, d}, kNaN);
    }
    check_on_gpu(problem);
}

TEST_F(GpuForward, NoKeysAndNoWork) {
    Problem no_keys(FLASHWRIGHT_F32, {1, 2, 1, 3, 0, 8, 8});
    check_on_gpu(no_keys);
    for (const Shape &shape : {Shape{0, 2, 1, 3, 4, 8, 8}, Shape{1, 0, 1, 3, 4, 8, 8}, Shape{1, 2, 1, 0, 4, 8, 8}}) {
        Problem problem(FLASHWRIGHT_F32, shape);
        EXPECT_TRUE(is_ok(run_on_gpu(problem)));
    }
}

TEST_F(GpuForward, TheSameBytesEveryTime) {
    Problem problem(FLASHWRIGHT_F32, {2, 3, 3, 130, 257, 40, 40}, everything());
    ASSERT_TRUE(is_ok(run_on_gpu(problem)));
    const std::string first = problem.output_bytes();
    for (int n = 0; n < 5; n++) {
        ASSERT_TRUE(is_ok(run_on_gpu(problem)));
        EXPECT_EQ(problem.output_bytes(), first);
    }
}

// Tensors are filled and read by pointer between calls, which alternate between CPU and GPU.
TEST_F(GpuForward, HostDataIsCurrent) {
    Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 1, 3, 1, 1});
    problem.q.assign([](std::int64_t) { return 0; });
    problem.k.assign([](std::int64_t) { return 0; });
    for (const double factor : {1.0, 10.0, 100.0}) {
        problem.v.assign([=](std::int64_t n) { return factor * static_cast<double>(n); });
        ASSERT_TRUE(is_ok(run_on_gpu(problem)));
        EXPECT_FLOAT_EQ(static_cast<float>(problem.out.get({0, 0, 0, 0})), static_cast<float>(factor));
        problem.v.assign([=](std::int64_t n) { return 2 * factor * static_cast<double>(n); });
        ASSERT_TRUE(is_ok(run(problem)));
        EXPECT_FLOAT_EQ(static_cast<float>(problem.out.get({0, 0, 0, 0})), static_cast<float>(2 * factor));
    }
}

TEST(GpuRefusals, NameWhatWasExpected) {
    const auto expect_refused = [](Problem problem, flashwright_code code, const std::vector<std::string> &parts) {
        expect_message(run_on_gpu(problem), code, parts);
        EXPECT_TRUE(problem.outputs_untouched());
    };
    expect_refused({FLASHWRIGHT_F64, {1, 1, 1, 2, 2, 8, 8}}, FLASHWRIGHT_UNSUPPORTED,
                   {"q", "f32 or f16", "f64", backend()});
    const int widest = *head_dims(kGpuKernels, kGpuKernelCount).rbegin();
    expect_refused({FLASHWRIGHT_F32, {1, 1, 1, 2, 2, widest + 1, 8}}, FLASHWRIGHT_UNSUPPORTED,
                   {"q", std::to_string(widest), std::to_string(widest + 1)});
    expect_refused({FLASHWRIGHT_F32, {1, 1, 1, 2, 2, 8, 300}}, FLASHWRIGHT_UNSUPPORTED,
                   {"v", std::to_string(widest), "300"});
    Problem problem(FLASHWRIGHT_F32, {1, 1, 1, 2, 2, 8, 8});
    const flashwright_forward_args args = problem.args();
    expect_message(flashwright_gpu_forward(&args, "metal", nullptr), FLASHWRIGHT_UNSUPPORTED, {"backend", "metal"});
    expect_message(flashwright_gpu_forward(&args, nullptr, nullptr), FLASHWRIGHT_INVALID_ARGUMENT, {"backend", "NULL"});
    expect_message(flashwright_gpu_forward(nullptr, backend(), nullptr), FLASHWRIGHT_INVALID_ARGUMENT, {"args"});
}

}  // namespace flashwright::test
