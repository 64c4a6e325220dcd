// What must hold between calls: the same bytes whoever computes them, the same result however keys are arranged.
#include "tests/support/kernels.h"

#include <atomic>
#include <cmath>
#include <thread>
#include <tuple>

namespace flashwright::test {

class Properties : public KernelTest {
 protected:
    Problem problem(const Options &options = {}) const {
        return Problem(GetParam().dtype, fitting({2, 3, 3, 130, 257, 40, 40}), options);
    }
    flashwright_execution execution() const { return with_kernel(GetParam().name.c_str()); }
};

// Case 13.
TEST_P(Properties, SameBytesForAnyThreads) {
    for (const Options &options : {Options{}, busy_options()}) {
        Problem p = problem(options);
        std::atomic<bool> stop{false};
        std::thread load([&] {
            for (volatile int n = 0; !stop; n = n + 1) {
            }
        });
        flashwright_execution once = execution();
        once.threads = 1;
        EXPECT_TRUE(is_ok(run(p, once)));
        const std::string expected = p.output_bytes();
        for (int n = 0; n < 20; n++) {
            const int threads[] = {1, 2, 3, 7};
            once.threads = threads[n % 4];
            EXPECT_TRUE(is_ok(run(p, once)));
            EXPECT_TRUE(p.output_bytes() == expected) << once.threads << " threads";
        }
        stop = true;
        load.join();
    }
}

TEST_P(Properties, SameBytesAnywhereInTheBatch) {
    Options options = busy_options();
    options.key_fractions = {};
    Problem p = problem(options);
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string out = p.out.bytes(), lse = p.lse.bytes();
    for (std::int64_t b = 0; b < 2; b++) {
        for (std::int64_t h = 0; h < 3; h++) {
            Problem one(p.dtype, {1, 1, 1, p.shape.seqlen_q, p.shape.seqlen_k, p.shape.head_dim, p.shape.head_dim_v},
                        options);
            for (auto [to, from] : {std::pair{&one.q, &p.q}, {&one.k, &p.k}, {&one.v, &p.v}})
                for (std::int64_t i = 0; i < to->shape()[2]; i++)
                    for (std::int64_t c = 0; c < to->shape()[3]; c++) to->set({0, 0, i, c}, from->get({b, h, i, c}));
            ASSERT_TRUE(is_ok(run(one, execution())));
            const auto place = static_cast<std::size_t>(b * 3 + h);
            EXPECT_TRUE(out.compare(place * one.out.bytes().size(), one.out.bytes().size(), one.out.bytes()) == 0);
            EXPECT_TRUE(lse.compare(place * one.lse.bytes().size(), one.lse.bytes().size(), one.lse.bytes()) == 0);
        }
    }
}

// In decoding, heads that share keys are computed together: a group alone gives what it gives among others.
TEST_P(Properties, SameBytesOfAGroupAlone) {
    const Shape shape = fitting({2, 24, 2, 1, 130, 40, 40});
    Problem all(GetParam().dtype, shape);
    ASSERT_TRUE(is_ok(run(all, with_isa(GetParam().isa.c_str()))));
    const std::string out = all.out.bytes();
    for (std::int64_t group = 0; group < 4; group++) {
        Problem one(all.dtype, {1, 12, 1, 1, shape.seqlen_k, shape.head_dim, shape.head_dim_v});
        const std::int64_t b = group / 2, kv = group % 2;
        for (auto [to, from, heads] : {std::tuple{&one.q, &all.q, 12}, {&one.k, &all.k, 1}, {&one.v, &all.v, 1}})
            for (std::int64_t h = 0; h < heads; h++)
                for (std::int64_t i = 0; i < to->shape()[2]; i++)
                    for (std::int64_t c = 0; c < to->shape()[3]; c++)
                        to->set({0, h, i, c}, from->get({b, kv * heads + h, i, c}));
        ASSERT_TRUE(is_ok(run(one, with_isa(GetParam().isa.c_str()))));
        const std::string alone = one.out.bytes();
        EXPECT_TRUE(out.compare(static_cast<std::size_t>(group) * alone.size(), alone.size(), alone) == 0);
    }
}

TEST_P(Properties, WithoutLseTheSameBytes) {
    Problem p = problem(busy_options());
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string expected = p.out.bytes();
    p.poison_outputs();
    flashwright_forward_args args = p.args();
    args.softmax_lse = {};
    const flashwright_execution with = execution();
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &with)));
    EXPECT_TRUE(p.out.bytes() == expected);
    EXPECT_TRUE(p.lse.untouched());
}

TEST_P(Properties, LowerRanks) {
    Problem p(GetParam().dtype, fitting({1, 3, 3, 9, 30, 8, 8}));
    ASSERT_TRUE(is_ok(run(p, execution())));
    const std::string expected = p.output_bytes();
    flashwright_forward_args args = p.args();
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse}) {
        tensor->rank--;
        for (int axis = 0; axis < tensor->rank; axis++)
            tensor->shape[axis] = tensor->shape[axis + 1], tensor->strides[axis] = tensor->strides[axis + 1];
    }
    p.poison_outputs();
    const flashwright_execution with = execution();
    ASSERT_TRUE(is_ok(flashwright_forward(&args, &with)));
    EXPECT_TRUE(p.output_bytes() == expected);
}

TEST_P(Properties, PermutedKeys) {
    Problem p(GetParam().dtype, fitting({1, 2, 1, 33, 131, 16, 32}));
    const ReferenceAttention expected = reference_forward(p);
    const std::int64_t keys = p.shape.seqlen_k;
    for (Tensor *tensor : {&p.k, &p.v}) {
        const std::vector<double> values = tensor->values();
        const std::int64_t channels = tensor->shape()[3];
        tensor->assign([&](std::int64_t n) {
            const std::int64_t j = n / channels % keys;
            return values[static_cast<std::size_t>(n + (j * 57 % keys - j) * channels)];  // 57 and 131 share no factor
        });
    }
    ASSERT_TRUE(is_ok(run(p, execution())));
    EXPECT_TRUE(outputs_match(p, expected));
}

TEST_P(Properties, ConstantAddedToAllScores) {
    Options options;
    options.bias = Coverage{false, false, false};
    for (double constant : {0.0, 16.0, -64.0}) {
        Problem p(GetParam().dtype, fitting({1, 2, 1, 19, 70, 16, 32}), options);
        p.bias.assign([=](std::int64_t) { return constant; });
        Problem plain(GetParam().dtype, p.shape);
        ReferenceAttention expected = reference_forward(plain);
        for (double &lse : expected.softmax_lse) lse += constant;
        ASSERT_TRUE(is_ok(run(p, execution_for(p))));
        EXPECT_TRUE(outputs_match(p, expected)) << constant;
    }
}

// Inputs may overlap each other.
TEST_P(Properties, InputsMayBeTheSameTensor) {
    Problem p(GetParam().dtype, fitting({1, 2, 2, 64, 64, 64, 64}));
    p.q = p.k = p.v;
    check(p);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Properties, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

TEST(KeyBlock, AnySizeGivesTheSame) {
    for (flashwright_dtype dtype : {FLASHWRIGHT_F32, FLASHWRIGHT_F64}) {
        Options options = busy_options();
        options.softcap = 3, options.window_left = 30, options.alibi = true;
        for (const Options &o : {Options{}, options}) {
            Problem p(dtype, {2, 2, 1, 13, 83, 9, 11}, o);
            const ReferenceAttention expected = reference_forward(p);
            for (std::int64_t block : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 17, 31, 64, 82, 83, 84, 200, 1 << 30}) {
                ASSERT_TRUE(is_ok(run(p, with_key_block(block))));
                EXPECT_TRUE(outputs_match(p, expected)) << block << " keys a block: " << p.describe();
            }
            ASSERT_TRUE(is_ok(run(p, with_key_block(std::int64_t{1} << 62))));
            EXPECT_TRUE(outputs_match(p, expected));
        }
    }
}

}  // namespace flashwright::test
