// Few rows against many keys: what parts of the keys give, merged.
#include "support/kernels.h"
#include "support/options.h"

#include <limits>

namespace flashwright::test {

namespace {

// Of two parts; the second shape with more rows than the tiles for few rows have.
const Shape kShapes[] = {{2, 2, 1, 1, 2100, 24, 40}, {2, 1, 1, 5, 2111, 40, 24}};

std::vector<Options> options_of_long_calls() {
    std::vector<Options> table = {Options{}, busy_options(), everything()};
    const auto add = [&](auto change) { table.push_back(options_with(change)); };
    add([](Options &o) { o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    add([](Options &o) { o.causal = true, o.diagonal = 1500; });
    add([](Options &o) { o.causal = true, o.diagonal = -3; });
    add([](Options &o) { o.causal = true, o.diagonal = std::numeric_limits<std::int64_t>::min(); });
    add([](Options &o) { o.window_left = 70, o.window_right = 2, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    add([](Options &o) { o.window_left = 900, o.window_right = 900, o.diagonal = 1000; });
    add([](Options &o) { o.key_fractions = {0, 0.3}; });
    add([](Options &o) { o.bias = Coverage{}, o.bias_hides = true; });
    add([](Options &o) { o.mask = Coverage{true, false, true, true, 4}; });
    add([](Options &o) { o.bias = Coverage{false, false, false, false, 1}; });
    add([](Options &o) { o.alibi = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT; });
    return table;
}

}  // namespace

class KeyParts : public KernelTest {};

TEST_P(KeyParts, EveryOption) {
    for (const Options &options : options_of_long_calls()) {
        for (const Shape &shape : kShapes) {
            Problem problem(GetParam().dtype, fitting(shape), options);
            check(problem, 3);
        }
    }
}

TEST_P(KeyParts, Layouts) {
    for (Form form : {Form::sequence_major, Form::row_gap, Form::reversed}) {
        Problem problem(GetParam().dtype, fitting(kShapes[0]), busy_options(), {form, form, form, form});
        check(problem, 2);
    }
}

// Where the values of hidden keys are not finite, also in parts of which nothing is seen.
TEST_P(KeyParts, NothingHiddenLeaks) {
    Options options;
    options.key_fractions = {0.5, 0.01};
    Problem problem(GetParam().dtype, fitting(kShapes[0]), options);
    const Exact expected = exact_forward(problem);
    const double garbage[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
    for (Tensor *tensor : {&problem.k, &problem.v}) {
        const std::vector<std::int64_t> &shape = tensor->shape();
        for (std::int64_t b = 0; b < shape[0]; b++) {
            const auto seen = static_cast<std::int64_t>(problem.key_lengths.get({b}));
            for (std::int64_t h = 0; h < shape[1]; h++)
                for (std::int64_t key = seen; key < shape[2]; key++)
                    for (std::int64_t c = 0; c < shape[3]; c++) tensor->set({b, h, key, c}, garbage[(key + c) % 2]);
        }
    }
    ASSERT_TRUE(is_ok(run(problem, execution_for(problem))));
    EXPECT_TRUE(outputs_match(problem, expected));
}

TEST_P(KeyParts, SameBytesForAnyThreadsAndAloneInABatch) {
    for (const Shape &shape : kShapes) {
        Problem problem(GetParam().dtype, fitting(shape));
        flashwright_execution execution = execution_for(problem);
        execution.threads = 1;
        ASSERT_TRUE(is_ok(run(problem, execution)));
        const std::string out = problem.out.bytes(), lse = problem.lse.bytes();
        for (int threads : {2, 3, 7}) {
            execution.threads = threads;
            ASSERT_TRUE(is_ok(run(problem, execution)));
            EXPECT_TRUE(problem.out.bytes() == out && problem.lse.bytes() == lse) << threads << " threads";
        }
        Shape alone = problem.shape;
        alone.batch = 1;
        Problem one(problem.dtype, alone);
        for (auto [to, from] : {std::pair{&one.q, &problem.q}, {&one.k, &problem.k}, {&one.v, &problem.v}}) {
            const std::int64_t skipped = to->count();
            const std::vector<double> values = from->values();
            to->assign([&](std::int64_t n) { return values[static_cast<std::size_t>(skipped + n)]; });
        }
        ASSERT_TRUE(is_ok(run(one, execution)));
        EXPECT_TRUE(out.substr(out.size() / 2) == one.out.bytes());
        EXPECT_TRUE(lse.substr(lse.size() / 2) == one.lse.bytes());
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, KeyParts, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

}  // namespace flashwright::test
