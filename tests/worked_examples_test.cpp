// Small examples whose results are known to 12 digits, and attention recorded from a real model.
#include "reference/tensor_reader.h"
#include "support/npy.h"
#include "tests/support/kernels.h"

#include <algorithm>
#include <cmath>

namespace flashwright::test {

namespace {

struct Example {
    const char *name;
    std::int64_t queries;
    std::vector<double> q;
    Options options;
    std::vector<double> out, lse;
};

std::vector<Example> examples() {
    Options plain, causal;
    plain.softmax_scale = causal.softmax_scale = 1 / std::sqrt(2.0);
    causal.causal = true, causal.align = FLASHWRIGHT_ALIGN_TOP_LEFT;
    return {{"dense", 2, {1, 0, 0, 1}, plain, {3, 4, 3.406672556079, 4.406672556079}, {1.620621139057, 1.620621139057}},
            {"causal",
             3,
             {1, 0, 0, 1, 1, 1},
             causal,
             {1, 2, 2.339523098653, 3.339523098653, 3.510469530454, 4.510469530454},
             {0.707106781187, 1.107940307657, 2.100405301228}}};
}

Problem example_problem(flashwright_dtype dtype, const Example &example) {
    Problem p(dtype, {1, 1, 1, example.queries, 3, 2, 2}, example.options);
    const double k[] = {1, 0, 0, 1, 1, 1};
    p.q.assign([&](std::int64_t n) { return example.q[static_cast<std::size_t>(n)]; });
    p.k.assign([&](std::int64_t n) { return k[n]; });
    p.v.assign([](std::int64_t n) { return static_cast<double>(n + 1); });
    return p;
}

}  // namespace

TEST(WorkedExamples, EveryKeyBlock) {
    for (const Example &example : examples()) {
        for (std::int64_t key_block : {1, 2, 3, 4, 5, 6, 7, 8, 64, 100000}) {
            for (flashwright_dtype dtype : {FLASHWRIGHT_F64, FLASHWRIGHT_F32}) {
                SCOPED_TRACE(std::string(example.name) + " by " + std::to_string(key_block) + " " + name_of(dtype));
                Problem p = example_problem(dtype, example);
                ASSERT_TRUE(is_ok(run(p, with_key_block(key_block))));
                const double printed = std::max(1e-9, forward_tolerance(dtype));  // as many digits as the examples have
                EXPECT_TRUE(values_match(p.out.values(), example.out, printed));
                EXPECT_TRUE(lse_matches(p.lse.values(), example.lse, printed));
                EXPECT_TRUE(outputs_match(p, reference_forward(p)));
            }
        }
    }
}

TEST(WorkedExamples, ScoresFarApartByEveryKeyBlock) {
    Options unit;
    unit.softmax_scale = 1;
    for (std::int64_t key_block : {1, 2, 3, 4, 5, 6, 7, 8, 100}) {
        for (double sign : {1.0, -1.0}) {
            Problem p(FLASHWRIGHT_F64, {1, 1, 1, 2, 13, 1, 3}, unit);
            p.q.assign([=](std::int64_t) { return sign; });
            p.k.assign([](std::int64_t n) {
                return n < 6 ? 1001.0 + static_cast<double>(n) / 8 : -1001.0 - static_cast<double>(n) / 8;
            });
            expect_reference(p, with_key_block(key_block));
        }
    }
}

// The reference itself, on the same examples.
TEST(WorkedExamples, ReferenceAgrees) {
    for (const Example &example : examples()) {
        const ReferenceAttention expected = reference_forward(example_problem(FLASHWRIGHT_F64, example));
        EXPECT_TRUE(values_match(expected.out, example.out, 1e-11)) << example.name;
        EXPECT_TRUE(lse_matches(expected.softmax_lse, example.lse, 1e-11)) << example.name;
    }
}

class RecordedTensors : public KernelTest {};

TEST_P(RecordedTensors, MiniLm) {
    const std::string folder = FLASHWRIGHT_SOURCE_DIR "/examples/data/minilm/";
    const auto load = [&](const char *name) {
        const NpyArray array = read_npy(folder + name);
        return TensorRows(tensor_of(name, array)).values();
    };
    const ReferenceAttention recorded{load("out.npy"), load("lse.npy")};
    ASSERT_EQ(read_npy(folder + "q.npy").shape, (std::vector<std::int64_t>{2, 12, 177, 32}));
    Problem p(GetParam().dtype, {2, 12, 12, 177, 177, 32, 32});
    const auto copy = [&](Tensor &to, const char *name) {
        const std::vector<double> from = load(name);
        to.assign([&](std::int64_t n) { return from[static_cast<std::size_t>(n)]; });
    };
    copy(p.q, "q.npy"), copy(p.k, "k.npy"), copy(p.v, "v.npy");
    p.key_lengths = Tensor(FLASHWRIGHT_I32, {2});
    copy(p.key_lengths, "key_lengths.npy");
    ASSERT_TRUE(is_ok(run(p, execution_for(p))));
    EXPECT_TRUE(outputs_match(p, recorded, forward_tolerance(FLASHWRIGHT_F32)));  // recorded in f32
    if (p.dtype == FLASHWRIGHT_F64) {
        EXPECT_TRUE(outputs_match(p, reference_forward(p)));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedTensors, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

}  // namespace flashwright::test
