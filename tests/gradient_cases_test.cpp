// Inputs that broke other attention kernels, over every backward kernel: each small enough to know the answer by hand.
#include "tests/support/gradient.h"
#include "tests/support/options.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

namespace flashwright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kGarbage[] = {kNaN, kInfinity, -kInfinity};

void fill(Tensor &tensor, double value) {
    tensor.assign([=](std::int64_t) { return value; });
}

// The row-major values of row `row` of one head.
std::vector<double> row_of(const Tensor &tensor, std::int64_t batch, std::int64_t head, std::int64_t row) {
    std::vector<double> values;
    for (std::int64_t c = 0; c < tensor.shape()[3]; c++) values.push_back(tensor.get({batch, head, row, c}));
    return values;
}

void set_row(Tensor &tensor, std::int64_t batch, std::int64_t head, std::int64_t row, double value) {
    for (std::int64_t c = 0; c < tensor.shape()[3]; c++) tensor.set({batch, head, row, c}, value);
}

}  // namespace

class GradientCases : public GradientTest {
 protected:
    flashwright_dtype dtype() const { return GetParam().dtype; }
    void run_it(GradientProblem &p, int threads = 1) const {
        flashwright_execution execution = execution_for(p);
        execution.threads = threads;
        ASSERT_TRUE(is_ok(run(p, execution))) << p.describe();
    }
    void expect_right(const GradientProblem &p) const {
        EXPECT_TRUE(gradients_match(p, expected_backward(p.forward, p.dout.values()))) << p.describe();
    }
    void expect(const Tensor &actual, const std::vector<double> &expected) const {
        EXPECT_TRUE(stored_values_match(dtype(), actual.values(), expected, gradient_tolerance(dtype())));
    }
};

// A fully masked row has dQ = 0 and adds nothing to dK and dV.
TEST_P(GradientCases, FullyMaskedRow) {
    for (bool as_bias : {false, true}) {
        Options options;
        (as_bias ? options.bias : options.mask) = Coverage{};
        GradientProblem p(dtype(), {1, 1, 1, 3, 4, 1, 1}, options);
        fill(p.forward.q, 0), fill(p.forward.k, 0), fill(p.dout, 1);
        p.forward.v.assign([](std::int64_t j) { return static_cast<double>(j); });
        for (std::int64_t i = 0; i < 3; i++)
            for (std::int64_t j = 0; j < 4; j++) {
                const bool unmasked = i == 2 || (i == 0 && j < 2);
                if (as_bias)
                    p.forward.bias.set({0, 0, i, j}, unmasked ? 0 : -kInfinity);
                else
                    p.forward.mask.set({0, 0, i, j}, unmasked);
            }
        run_it(p);
        expect(p.dv, {0.75, 0.75, 0.25, 0.25});
        for (const Tensor *gradient : {&p.dq, &p.dk})
            for (double value : gradient->values()) EXPECT_EQ(value, 0);
        if (as_bias) {
            const double dbias[] = {-0.25, 0.25, 0, 0, 0, 0, 0, 0, -0.375, -0.125, 0.125, 0.375};
            EXPECT_TRUE(
                values_match(p.dbias.values(), {std::begin(dbias), std::end(dbias)}, gradient_tolerance(dtype())));
            for (std::size_t n = 2; n < 8; n++) EXPECT_EQ(p.dbias.values()[n], 0);
        }
    }
}

// NaN in the query, the output's gradient and the output of a fully masked row reaches no gradient, wherever the row is
// in a tile.
TEST_P(GradientCases, EmptyRowsAnywhereInATile) {
    const std::int64_t rows = GetParam().block_q + 2;
    for (std::int64_t keys : {1, 63, 64, 65}) {
        for (std::int64_t empty : {std::int64_t{0}, rows / 2, GetParam().block_q - 1, GetParam().block_q, rows - 1}) {
            for (double garbage : {0.5, kNaN, kInfinity}) {
                Options options;
                options.mask = Coverage{};
                GradientProblem p(dtype(), {1, 1, 1, rows, keys, 3, 5}, options);
                p.forward.mask.assign([=](std::int64_t n) { return n / keys != empty; });
                set_row(p.forward.q, 0, 0, empty, garbage), set_row(p.dout, 0, 0, empty, garbage);
                run_it(p);
                SCOPED_TRACE(garbage);
                expect_right(p);
                set_row(p.forward.out, 0, 0, empty, garbage);
                ASSERT_TRUE(is_ok(run_backward_alone(p, execution_for(p))));
                expect_right(p);
                EXPECT_EQ(row_of(p.dq, 0, 0, empty), std::vector<double>(3, 0.0));
            }
        }
    }
}

// What lies past the key length has no effect and gradients of 0.
TEST_P(GradientCases, GarbagePastTheKeyLength) {
    for (std::int64_t length : {0, 1, 5, 63, 64}) {
        Options options;
        options.key_fractions = {static_cast<double>(length) / 64};
        GradientProblem clean(dtype(), {1, 1, 1, 3, 64, 16, 16}, options);
        run_it(clean);
        for (double garbage : kGarbage) {
            GradientProblem p(dtype(), {1, 1, 1, 3, 64, 16, 16}, options);
            for (std::int64_t j = length; j < 64; j++)
                set_row(p.forward.k, 0, 0, j, garbage), set_row(p.forward.v, 0, 0, j, garbage);
            run_it(p);
            EXPECT_TRUE(p.output_bytes() == clean.output_bytes()) << length << " keys, " << garbage;
            for (std::int64_t j = length; j < 64; j++) {
                EXPECT_EQ(row_of(p.dk, 0, 0, j), std::vector<double>(16, 0.0));
                EXPECT_EQ(row_of(p.dv, 0, 0, j), std::vector<double>(16, 0.0));
            }
        }
    }
}

// Keys that are masked for every row, by position or by a mask, have gradients of 0; what the output held before is
// overwritten.
TEST_P(GradientCases, KeysMaskedForEveryRow) {
    const std::int64_t keys = 2 * GetParam().width + 3, masked = keys - 2;
    std::vector<Options> table = {options_with([](Options &o) { o.causal = true; }),
                                  options_with([](Options &o) { o.window_left = 1, o.window_right = 1; }),
                                  options_with([](Options &o) { o.mask = Coverage{}; })};
    for (const Options &options : table) {
        GradientProblem p(dtype(), {1, 1, 1, 3, keys, 4, 5}, options);
        if (p.forward.mask.given()) p.forward.mask.assign([=](std::int64_t n) { return n % keys != masked; });
        run_it(p);
        expect_right(p);
        EXPECT_EQ(row_of(p.dk, 0, 0, masked), std::vector<double>(4, 0.0)) << p.describe();
        EXPECT_EQ(row_of(p.dv, 0, 0, masked), std::vector<double>(5, 0.0)) << p.describe();
    }
}

// A masked key whose product with the scale is not finite; then keys and queries whose products are moderate although
// they are not.
TEST_P(GradientCases, ScaleThatOverflowsOneOperand) {
    Options options;
    options.softmax_scale = 2;
    options.mask = Coverage{};
    GradientProblem p(dtype(), {1, 1, 1, 4, 9, 3, 5}, options);
    p.forward.mask.assign([](std::int64_t n) { return n % 9 != 7; });
    run_it(p);
    const std::string clean = p.output_bytes();
    set_row(p.forward.k, 0, 0, 7, 0.85 * largest_of(dtype()));
    run_it(p);
    EXPECT_TRUE(p.output_bytes() == clean);

    options = Options();
    options.softmax_scale = 1e9;
    GradientProblem far_apart(dtype(), {1, 1, 1, 4, 9, 3, 5}, options);
    const double large = largest_of(dtype()) / 3.4e8;
    far_apart.forward.k.assign([=](std::int64_t n) { return large * std::sin(static_cast<double>(n)); });
    far_apart.forward.q.assign([=](std::int64_t n) { return 1e-9 / large * std::cos(static_cast<double>(n)); });
    run_it(far_apart);
    // dQ itself exceeds the largest number.
    const ReferenceGradient expected = expected_backward(far_apart.forward, far_apart.dout.values());
    expect(far_apart.dk, expected.dk);
    expect(far_apart.dv, expected.dv);
}

// The first diagonal that ALiBi allows, with several chunks of keys.
TEST_P(GradientCases, AlibiFarFromTheDiagonal) {
    Options options;
    options.alibi = true;
    options.diagonal = -(std::int64_t{1} << 30);
    GradientProblem p(dtype(), {1, 1, 1, 5, 200, 8, 8}, options);
    p.forward.alibi_slopes.set({0}, dtype() == FLASHWRIGHT_F64 ? 0.01 : 1.0 / (1 << 24));
    run_it(p);
    // lse is large, and so is the effect of its rounding on P.
    const double rounding = (dtype() == FLASHWRIGHT_F64 ? 1e-16 * 1e7 : 6e-8 * 64) * 20;
    const ReferenceGradient expected = expected_backward(p.forward, p.dout.values());
    EXPECT_TRUE(stored_values_match(dtype(), p.dv.values(), expected.dv, rounding));
    EXPECT_TRUE(stored_values_match(dtype(), p.dq.values(), expected.dq, rounding));
}

// A masked pair of a row and a key has no effect on each other's gradients, whatever they hold.
TEST_P(GradientCases, GarbageBehindCausalityWindowAndMask) {
    const auto causal = [](Options &o) { o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; };
    const std::int64_t keys = GetParam().width + 30;  // more than any window of these rows reaches
    std::vector<Options> table = {options_with(causal),
                                  options_with([](Options &o) { o.window_left = 2, o.window_right = 1; })};
    table.push_back(options_with([](Options &o) { o.mask = Coverage{}; }));
    for (const Options &options : table) {
        for (double garbage : kGarbage) {
            // The last key is masked for all rows but the last one, whose own gradients are garbage.
            GradientProblem p(dtype(), {1, 1, 1, 20, keys, 4, 5}, options),
                clean(dtype(), {1, 1, 1, 20, keys, 4, 5}, options);
            for (GradientProblem *each : {&p, &clean})
                if (each->forward.mask.given())
                    each->forward.mask.assign([=](std::int64_t n) { return n % keys < keys - 1 || n / keys == 19; });
            set_row(p.forward.k, 0, 0, keys - 1, garbage), set_row(p.forward.v, 0, 0, keys - 1, garbage);
            run_it(p), run_it(clean);
            for (std::int64_t i = 0; i < 19; i++)
                EXPECT_TRUE(values_match(row_of(p.dq, 0, 0, i), row_of(clean.dq, 0, 0, i), gradient_tolerance(dtype())))
                    << i << " " << p.describe();
        }
        // The first row's query and gradient reach only the keys it attends to.
        GradientProblem p(dtype(), {1, 1, 1, 20, keys, 4, 5}, options);
        set_row(p.forward.q, 0, 0, 0, kNaN), set_row(p.dout, 0, 0, 0, kNaN);
        run_it(p);
        const std::vector<double> dout = p.dout.values();
        const ReferenceGradient expected = expected_backward(p.forward, dout);
        for (std::size_t n = 0; n < expected.dk.size(); n++)
            EXPECT_EQ(std::isnan(p.dk.values()[n]), std::isnan(expected.dk[n])) << n;
        for (std::size_t n = 0; n < expected.dv.size(); n++)
            EXPECT_EQ(std::isnan(p.dv.values()[n]), std::isnan(expected.dv[n])) << n;
        for (std::size_t n = 4; n < expected.dq.size(); n++) EXPECT_FALSE(std::isnan(p.dq.values()[n])) << n;
    }
}

// Long sums stay exact, over rows and over heads that share keys.
TEST_P(GradientCases, LongSums) {
    GradientProblem p(dtype(), {1, 1, 1, 4096, 4096, 8, 8});
    fill(p.forward.q, 0), fill(p.forward.k, 0), fill(p.forward.v, 1), fill(p.dout, 1);
    run_it(p);
    expect(p.dv, std::vector<double>(4096 * 8, 1));
    GradientProblem grouped(dtype(), {1, 32, 1, 64, 64, 8, 8});
    fill(grouped.forward.q, 0), fill(grouped.forward.k, 0), fill(grouped.dout, 1);
    run_it(grouped);
    expect(grouped.dv, std::vector<double>(64 * 8, 32));
}

// More queries than keys: the first rows are fully masked.
TEST_P(GradientCases, CausalWithUnequalLengths) {
    const Options causal = options_with(
        [](Options &o) { o.softmax_scale = 1, o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    GradientProblem p(dtype(), {1, 1, 1, 5, 2, 1, 1}, causal);
    fill(p.forward.q, 0), fill(p.dout, 1);
    p.forward.k.assign([](std::int64_t j) { return j == 0 ? 1 : 3; });
    p.forward.v.assign([](std::int64_t j) { return static_cast<double>(j + 1); });
    run_it(p);
    expect(p.dv, {1.5, 0.5});
    expect(p.dq, {0, 0, 0, 0, 0.5});
    for (double value : p.dk.values()) EXPECT_EQ(value, 0);
    for (std::size_t i = 0; i < 3; i++) EXPECT_EQ(p.dq.values()[i], 0);

    for (flashwright_align align : {FLASHWRIGHT_ALIGN_TOP_LEFT, FLASHWRIGHT_ALIGN_BOTTOM_RIGHT})
        for (std::int64_t queries : {1, 2, 7, 16, 17, 33})
            for (std::int64_t keys : {1, 2, 7, 16, 17, 33}) {
                GradientProblem q(dtype(), {1, 1, 1, queries, keys, 3, 5},
                                  options_with([=](Options &o) { o.causal = true, o.align = align; }));
                check(q);
            }
}

// The gradient of V is the sum over the heads that share it.
TEST_P(GradientCases, GroupedHeads) {
    GradientProblem p(dtype(), {1, 6, 2, 1, 1, 1, 1});
    p.dout.assign([](std::int64_t h) { return std::exp2(static_cast<double>(h)); });
    run_it(p);
    expect(p.dv, {7, 56});
}

// Sizes beside those of vectors and tiles.
TEST_P(GradientCases, SizesThatFillNoVectorOrTile) {
    for (std::int64_t channels : {1, 3, 17, 40, 80, 96, 192, 256, 576}) {
        GradientProblem p(dtype(), {1, 1, 1, 3, 5, channels, channels});
        check(p);
    }
    for (std::int64_t length : {1, 2, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 257}) {
        GradientProblem p(dtype(), {1, 1, 1, length, length, 1, 1});
        check(p);
    }
}

// Gradients are 0 where there is nothing to sum over.
TEST_P(GradientCases, ZeroExtents) {
    const auto all_zero = [](const Tensor &tensor) {
        for (double value : tensor.values())
            if (value != 0) return false;
        return true;
    };
    Options biased;
    biased.bias = Coverage{false, false, false};
    for (const Options &options : {Options{}, biased}) {
        for (const Shape &shape : {Shape{0, 2, 1, 3, 4, 5, 6}, Shape{2, 0, 1, 3, 4, 5, 6}, Shape{2, 2, 1, 0, 4, 5, 6},
                                   Shape{2, 2, 1, 3, 0, 5, 6}}) {
            GradientProblem p(dtype(), shape, options);
            run_it(p, 2);
            for (const Tensor *tensor : {&p.dq, &p.dk, &p.dv, &p.dbias})
                EXPECT_TRUE(!tensor->given() || (tensor->fully_written() && all_zero(*tensor))) << p.describe();
        }
    }
    // The largest number of heads that is allowed, without rows.
    constexpr std::int64_t kMany = std::int64_t{3} << 31;
    GradientProblem p(dtype(), {1, 1, 1, 0, 0, 5, 6});
    flashwright_backward_args args = p.args();
    for (flashwright_tensor *tensor :
         {&args.q, &args.k, &args.v, &args.out, &args.dout, &args.dq, &args.dk, &args.dv, &args.softmax_lse})
        tensor->shape[0] = tensor->shape[1] = kMany;
    EXPECT_TRUE(is_ok(flashwright_backward(&args, nullptr)));
}

// With one head, with enough heads for all threads, and with a bias that all heads share.
TEST_P(GradientCases, SameBytesForAnyThreads) {
    const Options causal = options_with([](Options &o) {
        o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT, o.key_fractions = {0.8, 1};
    });
    const Options biased = options_with([](Options &o) { o.bias = Coverage{false, false, false}; });
    for (const Options &options : {Options{}, causal, biased}) {
        for (const Shape &shape :
             {Shape{2, 3, 3, 130, 257, 40, 40}, Shape{1, 1, 1, 330, 700, 8, 32}, Shape{1, 4, 2, 65, 600, 16, 9}}) {
            GradientProblem p(dtype(), shape, options);
            std::atomic<bool> stop{false};
            std::thread load([&] {
                for (volatile int n = 0; !stop; n = n + 1) {
                }
            });
            run_it(p, 1);
            const std::string expected = p.output_bytes();
            for (int n = 0; n < 8; n++) {
                const int threads[] = {1, 2, 3, 7};
                run_it(p, threads[n % 4]);
                EXPECT_TRUE(p.output_bytes() == expected) << threads[n % 4] << " threads, " << p.describe();
            }
            stop = true;
            load.join();
        }
    }
}

// A pool that runs the tasks one after the other, and one that starts with the last task.
TEST_P(GradientCases, CallersThreadPool) {
    GradientProblem p(dtype(), {1, 1, 1, 100, 500, 8, 8});
    run_it(p, 1);
    const std::string expected = p.output_bytes();
    for (bool backwards : {false, true}) {
        flashwright_execution execution = execution_for(p);
        execution.threads = 4;
        execution.pool_context = &backwards;
        execution.parallel_for = [](void *context, std::int64_t count, void (*task)(void *, std::int64_t),
                                    void *task_context) {
            const bool reverse = *static_cast<bool *>(context);
            for (std::int64_t n = 0; n < count; n++) task(task_context, reverse ? count - 1 - n : n);
        };
        ASSERT_TRUE(is_ok(run_backward_alone(p, execution)));
        EXPECT_TRUE(p.output_bytes() == expected);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, GradientCases, ::testing::ValuesIn(runnable_kernels("backward")), kernel_test_name);

}  // namespace flashwright::test
