// Every backward kernel that can run here against the gradient of exact attention: shapes with tails on every axis,
// options, layouts; and against differences of exact attention, which know nothing of any gradient formula.
#include "tests/support/gradient.h"
#include "tests/support/options.h"
#include "tests/support/random_problem.h"

#include <algorithm>
#include <cmath>

namespace flashwright::test {

namespace {

constexpr auto kBottomRight = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;

Options causal_bottom_right() {
    return options_with([](Options &o) { o.causal = true, o.align = kBottomRight; });
}

// Around one tile and around two.
std::vector<std::int64_t> tails_of(std::int64_t tile) {
    std::vector<std::int64_t> values = {1, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 3};
    values.erase(std::remove_if(values.begin(), values.end(), [](std::int64_t n) { return n < 1; }), values.end());
    return values;
}

}  // namespace

class Backward : public GradientTest {};

TEST_P(Backward, EveryOption) {
    const KernelCase &kernel = GetParam();
    const Shape shapes[] = {{2, 6, 2, kernel.block_q + 5, kernel.width + 3, 20, 19},
                            {3, 2, 1, 7, std::min<std::int64_t>(kernel.block_k, 128) + kernel.width + 1, 9, 24},
                            {1, 2, 2, 1, 37, 16, 40}};
    for (const Options &options : option_table()) {
        for (const Shape &shape : shapes) {
            GradientProblem problem(kernel.dtype, shape, options);
            check(problem);
        }
    }
}

TEST_P(Backward, TailsOnEveryAxis) {
    const KernelCase &kernel = GetParam();
    for (const Options &options : {Options{}, causal_bottom_right(), everything()}) {
        for (std::int64_t tile : {kernel.tile_q, kernel.block_q}) {
            for (std::int64_t queries : tails_of(tile)) {
                GradientProblem problem(kernel.dtype, {1, 2, 1, queries, kernel.width + 5, 8, 9}, options);
                check(problem);
            }
        }
        for (std::int64_t tile : {kernel.tile_k, kernel.width, kernel.block_k}) {
            for (std::int64_t keys : tails_of(tile)) {
                GradientProblem problem(kernel.dtype, {1, 2, 1, 9, keys, 5, kernel.width}, options);
                check(problem);
            }
        }
        for (std::int64_t channels : tails_of(kernel.width)) {
            GradientProblem problem(kernel.dtype, {1, 2, 1, 9, 21, channels, kernel.width}, options);
            check(problem);
            GradientProblem other(kernel.dtype, {1, 2, 1, 9, 21, kernel.width, channels}, options);
            check(other);
        }
    }
}

TEST_P(Backward, GroupedHeads) {
    const std::pair<int, int> heads[] = {{6, 2}, {6, 1}, {6, 3}, {7, 1}, {12, 4}, {1, 1}};
    for (auto [of_queries, of_keys] : heads) {
        for (const Options &options : {Options{}, everything()}) {
            GradientProblem problem(GetParam().dtype, {2, of_queries, of_keys, 17, 19, 8, 8}, options);
            check(problem, 2);
        }
    }
}

TEST_P(Backward, Layouts) {
    const Shape shape{2, 4, 2, GetParam().tile_q + 1, 21, GetParam().width, 19};
    for (const Options &options : {Options{}, everything()}) {
        for (Form form : {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed,
                          Form::shared, Form::odd_ones}) {
            const Form written = form == Form::shared ? Form::contiguous : form;
            GradientProblem inputs(GetParam().dtype, shape, options, {form, form, form, written}, {form});
            check(inputs);
            GradientProblem outputs(GetParam().dtype, shape, options, {},
                                    {Form::contiguous, written, written, written});
            check(outputs, 2);
        }
    }
    GradientProblem ones(GetParam().dtype, {1, 1, 1, 1, 1, 1, 1}, {},
                         {Form::odd_ones, Form::odd_ones, Form::odd_ones, Form::odd_ones},
                         {Form::odd_ones, Form::odd_ones, Form::odd_ones, Form::odd_ones});
    check(ones);
}

// Buffers end at, or begin after, a page that must not be touched.
TEST_P(Backward, StaysInsideItsBuffers) {
    const KernelCase &kernel = GetParam();
    for (Place place : {Place::page_after, Place::page_before}) {
        Layout layout;
        layout.place = place;
        for (std::int64_t size : {1, 2, 3, 7, 8, 15, 16, 17, 32, 33, 64, 65}) {
            for (const Options &options : {Options{}, everything()}) {
                GradientProblem problem(kernel.dtype, {2, 2, 1, size, size, size, size}, options, layout);
                check(problem);
                GradientProblem whole(kernel.dtype, {1, 1, 1, size, kernel.width + size, kernel.width, kernel.width},
                                      options, layout);
                check(whole);
            }
        }
    }
}

TEST_P(Backward, RandomShapesAndOptions) {
    RandomProblems random;
    const int problems = RandomProblems::count(150);
    for (int n = 0; n < problems; n++) {
        const Shape shape = random.shape();
        const Options options = random.options(shape, !GetParam().terms.empty());
        GradientProblem problem(
            GetParam().dtype, shape, options,
            {random.input_form(), random.input_form(), random.input_form(), random.output_form()},
            {random.input_form(), random.output_form(), random.output_form(), random.output_form()});
        SCOPED_TRACE("problem " + std::to_string(n));
        check(problem, static_cast<int>(1 + random.below(4)));
        if (HasFailure()) return;
    }
}

// Central differences of sum(dout * out), where out is exact attention in long double.
TEST_P(Backward, CentralDifferences) {
    if (GetParam().dtype != FLASHWRIGHT_F64) GTEST_SKIP() << "differences need f64";
    const Options bounded = options_with([](Options &o) {
        o.softcap = 1.5, o.bias = Coverage{false, true, false}, o.alibi = true, o.causal = true, o.align = kBottomRight;
    });
    constexpr double kStep = 1e-4;
    for (const Options &options : {Options{}, causal_bottom_right(), bounded}) {
        GradientProblem p(FLASHWRIGHT_F64, {2, 4, 2, 3, 5, 3, 2}, options);
        ASSERT_TRUE(is_ok(run(p, execution_for(p))));
        const std::vector<double> dout = p.dout.values();
        const auto loss = [&] {
            const ReferenceAttention expected = reference_forward(p.forward);
            double sum = 0;
            for (std::size_t n = 0; n < dout.size(); n++) sum += dout[n] * expected.out[n];
            return sum;
        };
        const auto expect_slopes = [&](Tensor &at, const Tensor &gradient, const char *name) {
            const std::vector<double> values = at.values(), actual = gradient.values();
            for (std::size_t n = 0; n < values.size(); n++) {
                const auto shifted = [&](double by) {
                    at.assign([&](std::int64_t m) {
                        return values[static_cast<std::size_t>(m)] + (static_cast<std::size_t>(m) == n ? by : 0);
                    });
                    return loss();
                };
                const double slope = (shifted(kStep) - shifted(-kStep)) / (2 * kStep);
                EXPECT_NEAR(actual[n], slope, 1e-6) << name << " " << n << " of " << p.describe();
            }
            at.assign([&](std::int64_t m) { return values[static_cast<std::size_t>(m)]; });
        };
        expect_slopes(p.forward.q, p.dq, "dq");
        expect_slopes(p.forward.k, p.dk, "dk");
        expect_slopes(p.forward.v, p.dv, "dv");
        if (p.dbias.given()) expect_slopes(p.forward.bias, p.dbias, "dbias");
    }
}

// A table small enough for an emulated processor.
TEST_P(Backward, Emulated) {
    for (const Options &options : {Options{}, causal_bottom_right(), everything()}) {
        for (const Shape &shape :
             {Shape{1, 2, 1, 5, 19, 7, 9}, Shape{2, 1, 1, GetParam().tile_q + 1, GetParam().width + 1, 3, 4}}) {
            GradientProblem problem(GetParam().dtype, shape, options);
            check(problem);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Backward, ::testing::ValuesIn(runnable_kernels("backward")), kernel_test_name);

}  // namespace flashwright::test
