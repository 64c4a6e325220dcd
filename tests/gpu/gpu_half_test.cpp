// Forward kernels of f16: out is rounded once from f32, so that its error is at most twice that of plain attention in
// f16, and softmax_lse is as exact as in f32.
#include "gpu_test.h"
#include "reference/binary16.h"
#include "tests/support/check.h"
#include "tests/support/options.h"

#include <cmath>
#include <limits>

namespace flashwright::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Which kernels ran: all of them must have, in the end.
std::set<std::string> &kernels_that_ran() {
    static std::set<std::string> names;
    return names;
}

void check_on_gpu(Problem &problem) {
    SCOPED_TRACE(problem.describe());
    const char *kernel = "";
    ASSERT_TRUE(is_ok(run_on_gpu(problem, &kernel)));
    const ReferenceAttention expected = reference_forward(problem);
    EXPECT_LE(largest_error(problem.out.values(), expected.out),
              2 * largest_error(plain_forward(problem).out, expected.out) + forward_tolerance(FLASHWRIGHT_F32));
    EXPECT_TRUE(
        stored_values_match(FLASHWRIGHT_F16, problem.out.values(), expected.out, forward_tolerance(FLASHWRIGHT_F32)));
    EXPECT_TRUE(problem.out.fully_written() && problem.out.gaps_intact());
    EXPECT_TRUE(lse_matches(problem.lse.values(), expected.softmax_lse, forward_tolerance(FLASHWRIGHT_F32)));
    EXPECT_TRUE(problem.lse.fully_written() && problem.lse.gaps_intact());
    kernels_that_ran().insert(kernel);
}

// `keys` keys of the same score in each of so many heads that V holds `halves`, key by key, in rows of 64.
Problem mean_of(const std::vector<std::vector<std::uint16_t>> &keys) {
    constexpr std::int64_t kChannels = 64;
    const std::int64_t heads = static_cast<std::int64_t>(keys.front().size()) / kChannels;
    Problem problem(FLASHWRIGHT_F16,
                    {1, heads, heads, 1, static_cast<std::int64_t>(keys.size()), kChannels, kChannels});
    problem.q.assign([](std::int64_t) { return 0; });
    problem.v.assign([&](std::int64_t n) {
        const auto key = static_cast<std::size_t>(n / kChannels) % keys.size();
        const std::int64_t head = n / kChannels / static_cast<std::int64_t>(keys.size());
        return binary16_value(keys[key][static_cast<std::size_t>(head * kChannels + n % kChannels)]);
    });
    return problem;
}

}  // namespace

class GpuHalf : public GpuTest {};

TEST_F(GpuHalf, EveryOption) {
    for (const Options &options : option_table()) {
        Problem problem(FLASHWRIGHT_F16, {2, 4, 2, 37, 50, 20, 11}, options);
        check_on_gpu(problem);
        if (HasFailure()) return;
    }
}

TEST_F(GpuHalf, EveryKernelWithTailsOnEveryAxis) {
    const Options causal = options_with([](Options &o) { o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    for (const int head_dim : head_dims(kGpuKernels, kGpuKernelCount, FLASHWRIGHT_F16)) {
        const Shape shapes[] = {{1, 1, 1, 1, 1, head_dim, head_dim},
                                {2, 2, 1, 129, 47, head_dim - 3, head_dim},
                                {1, 2, 2, 5, 131, 7, head_dim - 1}};
        for (const Options &options : {Options{}, causal, everything()}) {
            for (const Shape &shape : shapes) {
                Problem problem(FLASHWRIGHT_F16, shape, options);
                check_on_gpu(problem);
                problem.v.set({0, 0, shape.seqlen_k / 3, 0}, kNaN);
                check_on_gpu(problem);
            }
        }
    }
    expect_all_ran(kGpuKernels, kGpuKernelCount, kernels_that_ran(), FLASHWRIGHT_F16);
}

TEST_F(GpuHalf, Layouts) {
    for (const Form form :
         {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed, Form::odd_ones}) {
        Problem problem(FLASHWRIGHT_F16, {2, 4, 2, 9, 21, 17, 19}, everything(), {form, form, form, form});
        check_on_gpu(problem);
    }
}

TEST_F(GpuHalf, EveryNumberPassesUnchanged) {
    std::vector<std::uint16_t> all;
    for (int bits = 0; bits < 1 << 16; ++bits) all.push_back(static_cast<std::uint16_t>(bits));
    Problem problem = mean_of({all});
    ASSERT_TRUE(is_ok(run_on_gpu(problem)));
    EXPECT_EQ(largest_error(problem.out.values(), problem.v.values()), 0);
}

TEST_F(GpuHalf, OutIsRoundedToTheNearestAndTiesToEven) {
    std::vector<std::uint16_t> below, above;
    for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) below.push_back(bits), above.push_back(bits + 1);
    below.push_back(0), above.push_back(0);  // a multiple of 64
    Problem problem = mean_of({below, above});
    ASSERT_TRUE(is_ok(run_on_gpu(problem)));
    const std::vector<double> out = problem.out.values();
    for (std::size_t n = 0; n < below.size(); ++n) {
        ASSERT_EQ(out[n], rounded_to_binary16((binary16_value(below[n]) + binary16_value(above[n])) / 2)) << below[n];
    }
}

TEST_F(GpuHalf, TheSameBytesEveryTime) {
    Problem problem(FLASHWRIGHT_F16, {2, 3, 3, 130, 257, 40, 40}, everything());
    ASSERT_TRUE(is_ok(run_on_gpu(problem)));
    const std::string first = problem.output_bytes();
    ASSERT_TRUE(is_ok(run_on_gpu(problem)));
    EXPECT_EQ(problem.output_bytes(), first);
}

TEST(GpuHalfRefusals, NameWhatWasExpected) {
    Problem problem(FLASHWRIGHT_F16, {1, 1, 1, 2, 2, 8, 8}, everything());
    expect_message(run(problem), FLASHWRIGHT_UNSUPPORTED, {"forward", "f16"});
    EXPECT_TRUE(problem.outputs_untouched());
    flashwright_forward_args args = problem.args();
    args.softmax_lse.dtype = FLASHWRIGHT_F16;
    expect_message(flashwright_gpu_forward(&args, backend(), nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                   {"softmax_lse", "f32", "f16"});
    flashwright_tensor slopes = *args.score.alibi_slopes;
    slopes.dtype = FLASHWRIGHT_F16;
    args = problem.args();
    args.score.alibi_slopes = &slopes;
    expect_message(flashwright_gpu_forward(&args, backend(), nullptr), FLASHWRIGHT_INVALID_ARGUMENT,
                   {"alibi_slopes", "f32", "f16"});
    Problem wide(FLASHWRIGHT_F16, {1, 1, 1, 2, 2, 129, 8});
    expect_message(run_on_gpu(wide), FLASHWRIGHT_UNSUPPORTED, {"q", "128", "129"});
}

}  // namespace flashwright::test
