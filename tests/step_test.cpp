// online_softmax_step: a state is updated with one block of scores and values after the other.
#include "tests/support/kernels.h"

#include <cmath>
#include <limits>

namespace flashwright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The running state of a problem, and the scores of its keys.
struct Steps {
    explicit Steps(const Problem &of, Form form = Form::contiguous)
        : problem(of), rows{problem.shape.batch, problem.shape.heads, problem.shape.seqlen_q} {
        const flashwright_dtype sums = accumulation_dtype(problem.dtype);
        std::vector<std::int64_t> of_acc = rows, of_scores = rows;
        of_acc.push_back(problem.shape.head_dim_v), of_scores.push_back(problem.shape.seqlen_k);
        for (int n = 0; n < 2; n++) {
            m[n] = Tensor(sums, rows), l[n] = Tensor(sums, rows);
            acc[n] = Tensor(sums, of_acc, strides_of(form, of_acc));
        }
        scores = Tensor(sums, of_scores, strides_of(form, of_scores));
        const std::vector<double> expected = reference_scores(problem);
        scores.assign([&](std::int64_t n) { return expected[static_cast<std::size_t>(n)]; });
        reset();
    }

    void reset() {
        m[0].assign([](std::int64_t) { return -kInfinity; });
        l[0].assign([](std::int64_t) { return 0.0; });
        acc[0].assign([](std::int64_t) { return 0.0; });
        current = 0;
    }

    // Keys begin <= j < end.
    flashwright_step_args args(std::int64_t begin, std::int64_t end, bool in_place) const {
        const auto size = [](const Tensor &tensor) { return static_cast<std::int64_t>(size_of(tensor.dtype())); };
        flashwright_step_args args{};
        args.scores = scores.view(), args.v = problem.v.view();
        args.scores.data = static_cast<char *>(args.scores.data) + begin * args.scores.strides[3] * size(scores);
        args.scores.shape[3] = args.v.shape[2] = end - begin;
        args.v.data = static_cast<char *>(args.v.data) + begin * args.v.strides[2] * size(problem.v);
        const int next = in_place ? current : 1 - current;
        args.m = m[current].view(), args.l = l[current].view(), args.acc = acc[current].view();
        args.m_out = m[next].view(), args.l_out = l[next].view(), args.acc_out = acc[next].view();
        return args;
    }

    flashwright_status step(std::int64_t begin, std::int64_t end, bool in_place,
                            const flashwright_execution &execution) {
        const flashwright_step_args step = args(begin, end, in_place);
        const flashwright_status status = flashwright_online_softmax_step(&step, &execution);
        if (!in_place) current = 1 - current;
        return status;
    }

    // acc / l and m + log l.
    ReferenceAttention finished() const {
        ReferenceAttention result;
        const auto of_m = m[current].values(), of_l = l[current].values(), of_acc = acc[current].values();
        const std::size_t channels = static_cast<std::size_t>(problem.shape.head_dim_v);
        for (std::size_t n = 0; n < of_acc.size(); n++)
            result.out.push_back(of_l[n / channels] == 0 ? of_acc[n] : of_acc[n] / of_l[n / channels]);
        for (std::size_t row = 0; row < of_m.size(); row++)
            result.softmax_lse.push_back(of_l[row] == 0 ? of_m[row] : of_m[row] + std::log(of_l[row]));
        return result;
    }

    const Problem &problem;
    std::vector<std::int64_t> rows;
    Tensor m[2], l[2], acc[2], scores;
    int current = 0;
};

}  // namespace

class Step : public KernelTest {
 protected:
    flashwright_execution execution() const { return with_kernel(GetParam().name.c_str()); }

    void expect_forward(const Steps &steps) const {
        const ReferenceAttention expected = reference_forward(steps.problem), got = steps.finished();
        EXPECT_TRUE(values_match(got.out, expected.out, forward_tolerance(GetParam().dtype)));
        EXPECT_TRUE(lse_matches(got.softmax_lse, expected.softmax_lse, forward_tolerance(GetParam().dtype)));
    }
};

TEST_P(Step, StepsOverBlocksEqualForward) {
    Options options;
    options.causal = true, options.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    for (const Options &o : {Options{}, options}) {
        for (std::int64_t queries : {std::int64_t{1}, GetParam().block_q, GetParam().block_q + 3}) {
            for (std::int64_t channels : {1, 8, 21, 64}) {
                Problem problem(GetParam().dtype, {2, 4, 2, queries, 37, 8, channels}, o);
                Steps steps(problem);
                for (std::int64_t block : {1, 2, 5, 16, 36, 37}) {
                    for (bool in_place : {false, true}) {
                        SCOPED_TRACE(problem.describe() + " by " + std::to_string(block) +
                                     (in_place ? " in place" : ""));
                        steps.reset();
                        for (std::int64_t begin = 0; begin < 37; begin += block)
                            ASSERT_TRUE(is_ok(
                                steps.step(begin, std::min<std::int64_t>(begin + block, 37), in_place, execution())));
                        expect_forward(steps);
                    }
                }
            }
        }
    }
}

TEST_P(Step, Layouts) {
    for (Form form : {Form::sequence_major, Form::transposed, Form::channel_gap, Form::row_gap, Form::reversed}) {
        Problem problem(GetParam().dtype, {2, 4, 2, 11, 37, 8, 21}, {}, {form, form, form, form});
        Steps steps(problem, form);
        SCOPED_TRACE(problem.describe());
        for (std::int64_t begin = 0; begin < 37; begin += 16) {
            ASSERT_TRUE(is_ok(steps.step(begin, std::min<std::int64_t>(begin + 16, 37), false, execution())));
        }
        expect_forward(steps);
        EXPECT_TRUE(steps.acc[0].gaps_intact() && steps.acc[1].gaps_intact());
    }
}

TEST_P(Step, MaskedScoresKeepTheStateAndIgnoreValues) {
    Problem problem(GetParam().dtype, {1, 1, 1, 5, 24, 4, 9});
    Steps steps(problem);
    ASSERT_TRUE(is_ok(steps.step(0, 8, false, execution())));
    const std::string m = steps.m[steps.current].bytes(), l = steps.l[steps.current].bytes(),
                      acc = steps.acc[steps.current].bytes();
    for (std::int64_t i = 0; i < 5; i++)
        for (std::int64_t j = 8; j < 16; j++) steps.scores.set({0, 0, i, j}, -kInfinity);
    for (std::int64_t j = 8; j < 16; j++)
        for (std::int64_t c = 0; c < 9; c++) problem.v.set({0, 0, j, c}, std::nan(""));
    ASSERT_TRUE(is_ok(steps.step(8, 16, false, execution())));
    EXPECT_EQ(steps.m[steps.current].bytes(), m);
    EXPECT_EQ(steps.l[steps.current].bytes(), l);
    EXPECT_EQ(steps.acc[steps.current].bytes(), acc);
}

TEST_P(Step, EmptyStateAndAllMasked) {
    Problem problem(GetParam().dtype, {1, 2, 1, 3, 8, 4, 9});
    Steps steps(problem);
    steps.scores.assign([](std::int64_t) { return -kInfinity; });
    ASSERT_TRUE(is_ok(steps.step(0, 8, false, execution())));
    for (double m : steps.m[steps.current].values()) EXPECT_EQ(m, -kInfinity);
    for (double l : steps.l[steps.current].values()) EXPECT_EQ(l, 0);
    for (double acc : steps.acc[steps.current].values()) EXPECT_EQ(acc, 0);
}

TEST_P(Step, NaNReachesItsRowAlone) {
    Problem problem(GetParam().dtype, {1, 1, 1, 5, 24, 4, 9});
    Steps steps(problem);
    steps.scores.set({0, 0, 2, 11}, std::nan(""));
    for (std::int64_t begin = 0; begin < 24; begin += 8) {
        ASSERT_TRUE(is_ok(steps.step(begin, begin + 8, false, execution())));
    }
    const ReferenceAttention got = steps.finished();
    for (std::size_t n = 0; n < got.out.size(); n++) EXPECT_EQ(std::isnan(got.out[n]), n / 9 == 2) << n;
    for (std::size_t row = 0; row < got.softmax_lse.size(); row++)
        EXPECT_EQ(std::isnan(got.softmax_lse[row]), row == 2) << row;
}

TEST_P(Step, ScoresFarApart) {
    for (double sign : {1.0, -1.0}) {
        Options unit;
        unit.softmax_scale = 1;
        Problem problem(GetParam().dtype, {1, 1, 1, 2, 12, 1, 5}, unit);
        problem.q.assign([=](std::int64_t) { return sign; });
        problem.k.assign([](std::int64_t n) {
            return n < 6 ? 1024.0 + static_cast<double>(n % 3) : -1024.0 - static_cast<double>(n % 3);
        });
        Steps steps(problem);
        for (std::int64_t begin = 0; begin < 12; begin += 4)
            ASSERT_TRUE(is_ok(steps.step(begin, begin + 4, false, execution())));
        expect_forward(steps);
    }
}

TEST_P(Step, ZeroExtents) {
    for (int axis = 0; axis < 4; axis++) {
        Shape shape{2, 2, 1, 3, 8, 4, 9};
        (axis == 0 ? shape.batch : axis == 1 ? shape.heads : axis == 2 ? shape.seqlen_q : shape.seqlen_k) = 0;
        Problem problem(GetParam().dtype, shape);
        Steps steps(problem);
        ASSERT_TRUE(is_ok(steps.step(0, shape.seqlen_k, false, execution()))) << problem.describe();
        for (double m : steps.m[steps.current].values()) EXPECT_EQ(m, -kInfinity);
        for (double acc : steps.acc[steps.current].values()) EXPECT_EQ(acc, 0);
    }
}

TEST_P(Step, SameBytesForAnyThreads) {
    Problem problem(GetParam().dtype, {2, 3, 3, 130, 40, 8, 24});
    std::string expected;
    for (int threads : {1, 2, 3, 7}) {
        flashwright_execution with_threads = execution();
        with_threads.threads = threads;
        Steps steps(problem);
        ASSERT_TRUE(is_ok(steps.step(0, 40, false, with_threads)));
        const std::string bytes = steps.m[1].bytes() + steps.l[1].bytes() + steps.acc[1].bytes();
        if (threads == 1) expected = bytes;
        EXPECT_EQ(bytes, expected) << threads;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Step, ::testing::ValuesIn(runnable_kernels("step")), kernel_test_name);

}  // namespace flashwright::test
