// Every forward kernel that can run here, over shapes with tails on every axis, options and layouts.
#include "tests/support/kernels.h"
#include "tests/support/options.h"
#include "tests/support/random_problem.h"

#include <algorithm>

namespace flashwright::test {

namespace {

constexpr auto kTopLeft = FLASHWRIGHT_ALIGN_TOP_LEFT;
constexpr auto kBottomRight = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;

// The values of `near` around one tile and around two, where a tail begins or ends.
std::vector<std::int64_t> tails_of(std::int64_t tile) {
    std::vector<std::int64_t> values = {1, 2, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 3};
    values.erase(std::remove_if(values.begin(), values.end(), [](std::int64_t n) { return n < 1; }), values.end());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

}  // namespace

class Forward : public KernelTest {};

TEST_P(Forward, EveryOption) {
    const KernelCase &kernel = GetParam();
    const Shape shapes[] = {
        {2, 6, 2, kernel.block_q + 5, 2 * kernel.tile_k + 3, 20, std::max(kernel.tile_d, kernel.tile_v) + 3},
        {3, 2, 1, 7, std::min<std::int64_t>(kernel.block_k, 256) + kernel.tile_k + 1, 9, 2 * kernel.tile_v},
        {1, 2, 2, 1, 37, 16, 40}};
    for (const Options &options : option_table()) {
        for (const Shape &shape : shapes) {
            Problem problem(kernel.dtype, fitting(shape), options);
            check(problem);
        }
    }
}

TEST_P(Forward, TailsOnEveryAxis) {
    const KernelCase &kernel = GetParam();
    const Options causal = options_with([](Options &o) { o.causal = true, o.align = kBottomRight; });
    const std::int64_t block_k = std::min<std::int64_t>(kernel.block_k, 256);
    const std::int64_t width = std::max(kernel.tile_d, kernel.tile_v);
    std::vector<std::int64_t> key_counts = tails_of(kernel.tile_k);
    for (std::int64_t keys :
         {block_k - 1, block_k, block_k + 1, block_k + kernel.tile_k, 2 * block_k + kernel.tile_k - 1})
        key_counts.push_back(keys);
    for (const Options &options : {Options{}, causal, everything()}) {
        for (std::int64_t queries : tails_of(kernel.block_q)) {
            Problem problem(kernel.dtype, {1, 2, 1, queries, 3 * kernel.tile_k + 1, kernel.tile_d, width + 1}, options);
            check(problem);
        }
        for (std::int64_t keys : key_counts) {
            Problem problem(kernel.dtype, {1, 2, 1, 9, keys, kernel.tile_d, width + 1}, options);
            check(problem);
        }
        for (std::int64_t channels : tails_of(width)) {
            Problem problem(kernel.dtype, {1, 2, 1, 9, 2 * kernel.tile_k + 1, channels, width + 1}, options);
            check(problem);
            Problem other(kernel.dtype, {1, 2, 1, 9, 2 * kernel.tile_k + 1, kernel.tile_d + 1, channels}, options);
            check(other);
        }
    }
}

TEST_P(Forward, GroupedHeads) {
    const std::pair<int, int> heads[] = {{6, 2}, {6, 1}, {6, 3}, {7, 1}, {12, 4}, {1, 1}};
    for (auto [of_queries, of_keys] : heads) {
        for (const Options &options : {Options{}, everything()}) {
            Problem problem(GetParam().dtype, fitting({2, of_queries, of_keys, 17, 19, 8, 8}), options);
            check(problem, 2);
        }
    }
}

// One query a head: those that share keys are computed together.
TEST_P(Forward, DecodingWithGroupedHeads) {
    const Shape shapes[] = {{2, 10, 2, 1, 19, 8, 8}, {1, 40, 2, 1, 70, 20, 12}, {3, 4, 1, 1, 3, 9, 17}};
    const Options ends[] = {options_with([](Options &o) {
                                o.diagonal = 11;
                                o.causal = true;
                            }),
                            options_with([](Options &o) {
                                o.diagonal = -1;
                                o.causal = true;
                            }),
                            options_with([](Options &o) { o.window_right = 5; }),
                            options_with([](Options &o) { o.window_left = 4; })};
    std::vector<Options> options = option_table();
    options.insert(options.end(), std::begin(ends), std::end(ends));
    for (const Options &some : options) {
        for (const Shape &shape : shapes) {
            for (Form form : {Form::contiguous, Form::sequence_major, Form::row_gap}) {
                Problem problem(GetParam().dtype, fitting(shape), some, {form, form, form, form});
                check(problem, 2);
            }
        }
    }
}

TEST_P(Forward, Layouts) {
    const Shape shape = fitting({2, 3, 3, 5, 18, 8, 8}), grouped = fitting({2, 4, 2, 9, 21, 17, 19});
    const Form forms[] = {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap,
                          Form::reversed,       Form::shared,     Form::odd_ones};
    for (const Options &options : {Options{}, everything()}) {
        for (Form form : forms) {
            const Form out_form = form == Form::shared ? Form::contiguous : form;
            std::vector<Layout> layouts(5);
            layouts[0].q = form, layouts[1].k = form, layouts[2].v = form, layouts[3].out = out_form;
            layouts[4] = {form, form, form, out_form};
            for (const Layout &layout : layouts) {
                Problem problem(GetParam().dtype, shape, options, layout);
                check(problem);
            }
            Problem problem(GetParam().dtype, grouped, options, layouts[4]);
            check(problem, 2);
        }
    }
    for (std::int64_t stride : {2, -1, 3}) {
        Options options = everything();
        options.bias->key_stride = options.mask->key_stride = stride;
        Layout layout;
        layout.vector_stride = stride;
        Problem problem(GetParam().dtype, grouped, options, layout);
        check(problem);
    }
    Problem ones(GetParam().dtype, fitting({1, 1, 1, 1, 1, 1, 1}), {},
                 {Form::odd_ones, Form::odd_ones, Form::odd_ones, Form::odd_ones});
    check(ones);
}

// Buffers end at, or begin after, a page that must not be touched.
TEST_P(Forward, StaysInsideItsBuffers) {
    const KernelCase &kernel = GetParam();
    for (Place place : {Place::page_after, Place::page_before}) {
        Layout layout;
        layout.place = place;
        for (std::int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65}) {
            for (const Options &options : {Options{}, everything()}) {
                Problem problem(kernel.dtype, fitting({2, 2, 1, size, size, size, size}), options, layout);
                check(problem);
                Problem tails(kernel.dtype, fitting({1, 1, 1, size, kernel.tile_k + size, 5, 12 + size}), options,
                              layout);
                check(tails);
            }
        }
        Options lengths;
        lengths.key_fractions = {0.1, 0.5};
        Problem problem(kernel.dtype, fitting({2, 2, 1, 6, 50, 8, 16}), lengths, layout);
        check(problem);
    }
}

TEST_P(Forward, RandomShapesAndOptions) {
    RandomProblems random;
    const int problems = RandomProblems::count(300);
    for (int n = 0; n < problems; n++) {
        Shape shape = random.shape();
        if (random.chance(90)) shape = fitting(shape);
        const Options options = random.options(shape, !GetParam().terms.empty());
        Problem problem(GetParam().dtype, shape, options,
                        {random.input_form(), random.input_form(), random.input_form(), random.output_form()});
        SCOPED_TRACE("problem " + std::to_string(n));
        check(problem, static_cast<int>(1 + random.below(3)));
        if (HasFailure()) return;  // the first one is enough to reproduce
    }
}

// The library's own choice, which hands the rows that fill no tile to another kernel.
TEST_P(Forward, TailRows) {
    const KernelCase &kernel = GetParam();
    const Options causal = options_with([](Options &o) { o.causal = true, o.align = kBottomRight; });
    for (const Options &options : {Options{}, causal, everything()}) {
        for (std::int64_t rest : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33}) {
            const std::int64_t rows = kernel.block_q + rest, keys = kernel.tile_k + rest + 40;
            for (Form form : {Form::contiguous, Form::sequence_major}) {
                Problem problem(kernel.dtype, fitting({1, 2, 1, rows, keys, 24, 40}), options,
                                {form, form, form, form});
                SCOPED_TRACE(kernel.isa + ": " + problem.describe());
                ASSERT_TRUE(is_ok(run(problem, with_isa(kernel.isa.c_str()))));
                EXPECT_TRUE(outputs_match(problem, reference_forward(problem)));
            }
        }
    }
}

// A table small enough for an emulated processor.
TEST_P(Forward, Emulated) {
    const KernelCase &kernel = GetParam();
    const Options causal = options_with([](Options &o) { o.causal = true, o.align = kBottomRight; });
    const Options windowed =
        options_with([](Options &o) { o.window_left = 5, o.window_right = 2, o.key_fractions = {0.8}; });
    for (const Options &options : {Options{}, causal, windowed, everything()}) {
        for (const Shape &shape :
             {Shape{1, 2, 1, 5, 19, 7, 9}, Shape{2, 1, 1, kernel.block_q + 1, kernel.tile_k + 1, 3, 4}}) {
            Problem problem(kernel.dtype, fitting(shape), options);
            check(problem);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Forward, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

}  // namespace flashwright::test
