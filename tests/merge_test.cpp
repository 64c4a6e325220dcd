// merge_states: two results over disjoint keys become the result over all of them.
#include "tests/support/kernels.h"

#include <cmath>
#include <limits>

namespace flashwright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The two sides, each an attention result, and their join.
struct Sides {
    Sides(flashwright_dtype dtype, std::vector<std::int64_t> shape, Form form = Form::contiguous) {
        const std::vector<std::int64_t> rows(shape.begin(), shape.end() - 1);
        for (Tensor *tensor : {&out_a, &out_b, &out}) *tensor = Tensor(dtype, shape, strides_of(form, shape));
        for (Tensor *tensor : {&lse_a, &lse_b, &lse}) *tensor = Tensor(accumulation_dtype(dtype), rows);
        fill_g(out_a, 1), fill_g(out_b, 2), fill_g(lse_a, 3), fill_g(lse_b, 4);
    }

    flashwright_merge_args args() const {
        return {out_a.view(), lse_a.view(), out_b.view(), lse_b.view(), out.view(), lse.view()};
    }

    ReferenceAttention expected() const {
        ReferenceAttention expected;
        const auto a = out_a.values(), b = out_b.values(), of_a = lse_a.values(), of_b = lse_b.values();
        const std::size_t channels = static_cast<std::size_t>(out_a.shape().back());
        for (std::size_t row = 0; row < of_a.size(); row++) {
            const long double top = std::max(of_a[row], of_b[row]);
            const bool none = top == -kInfinity;
            const long double left = none ? 0 : std::exp(of_a[row] - top), right = none ? 0 : std::exp(of_b[row] - top);
            for (std::size_t c = row * channels; c < (row + 1) * channels; c++) {
                const long double sum = (left > 0 ? left * a[c] : 0) + (right > 0 ? right * b[c] : 0);
                expected.out.push_back(none ? 0 : static_cast<double>(sum / (left + right)));
            }
            expected.softmax_lse.push_back(none ? -kInfinity : static_cast<double>(top + std::log(left + right)));
        }
        return expected;
    }

    Tensor out_a, lse_a, out_b, lse_b, out, lse;
};

}  // namespace

class Merge : public KernelTest {
 protected:
    void run_and_compare(Sides &sides) const {
        const flashwright_merge_args args = sides.args();
        const flashwright_execution execution = with_kernel(GetParam().name.c_str());
        const ReferenceAttention expected = sides.expected();
        ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
        EXPECT_TRUE(stored_values_match(GetParam().dtype, sides.out.values(), expected.out,
                                        forward_tolerance(GetParam().dtype)));
        EXPECT_TRUE(lse_matches(sides.lse.values(), expected.softmax_lse, forward_tolerance(GetParam().dtype)));
        EXPECT_TRUE(sides.out.gaps_intact());
        EXPECT_TRUE(sides.lse.gaps_intact());
    }
};

TEST_P(Merge, TailsOnEveryAxis) {
    for (std::int64_t rows :
         {std::int64_t{1}, GetParam().block_q - 1, GetParam().block_q, GetParam().block_q + 1, std::int64_t{67}}) {
        for (std::int64_t channels : {1, 3, 8, 17, 64, 80}) {
            for (Form form : {Form::contiguous, Form::sequence_major, Form::row_gap, Form::odd_ones, Form::transposed,
                              Form::channel_gap, Form::reversed}) {
                if (rows < 1) continue;
                Sides sides(GetParam().dtype, {2, 3, rows, channels}, form);
                SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(channels) + " channels " +
                             name_of(form));
                run_and_compare(sides);
            }
        }
    }
}

// Eight keys of equal scores, split 6 | 2.
TEST_P(Merge, SplitKeysGiveTheWhole) {
    const flashwright_dtype dtype = GetParam().dtype;
    const double even = std::log(6.0), rest = std::log(2.0);
    Sides sides(dtype, {1, 1, 1, 1});
    sides.out_a.set({0, 0, 0, 0}, 2.5), sides.lse_a.set({0, 0, 0}, even);
    sides.out_b.set({0, 0, 0, 0}, 6.5), sides.lse_b.set({0, 0, 0}, rest);
    run_and_compare(sides);
    EXPECT_NEAR(sides.out.get({0, 0, 0, 0}), 3.5, 1e-6);
    EXPECT_NEAR(sides.lse.get({0, 0, 0}), 2.0794415416798357, 1e-6);
}

// A side without keys (lse = -infinity) is ignored, whatever its out holds.
TEST_P(Merge, EmptySides) {
    for (double garbage : {std::numeric_limits<double>::quiet_NaN(), kInfinity, 0.0}) {
        Sides sides(GetParam().dtype, {1, 2, 9, 20});
        for (std::int64_t h = 0; h < 2; h++) {
            for (std::int64_t i = 0; i < 9; i++) {
                for (std::int64_t c = 0; c < 20; c++) {
                    if (i % 3 != 0) sides.out_a.set({0, h, i, c}, garbage);
                    if (i % 3 == 2) sides.out_b.set({0, h, i, c}, garbage);
                }
                if (i % 3 != 0) sides.lse_a.set({0, h, i}, -kInfinity);
                if (i % 3 == 2) sides.lse_b.set({0, h, i}, -kInfinity);
            }
        }
        run_and_compare(sides);
        std::swap(sides.out_a, sides.out_b), std::swap(sides.lse_a, sides.lse_b);
        sides.out.poison(), sides.lse.poison();
        run_and_compare(sides);
    }
}

TEST_P(Merge, NaNReachesItsRowAlone) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (int where = 0; where < 4; where++) {
        Sides sides(GetParam().dtype, {1, 1, 9, 20});
        Tensor *const tensors[] = {&sides.lse_a, &sides.lse_b, &sides.out_a, &sides.out_b};
        if (where < 2) {
            tensors[where]->set({0, 0, 4}, nan);
        } else {
            tensors[where]->set({0, 0, 4, 7}, nan);
        }
        const flashwright_merge_args args = sides.args();
        const flashwright_execution execution = with_kernel(GetParam().name.c_str());
        ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
        for (std::int64_t i = 0; i < 9; i++) {
            EXPECT_EQ(std::isnan(sides.lse.get({0, 0, i})), i == 4 && where < 2) << "row " << i << " of " << where;
            for (std::int64_t c = 0; c < 20; c++) {
                const bool expected = i == 4 && (where < 2 || c == 7);
                EXPECT_EQ(std::isnan(sides.out.get({0, 0, i, c})), expected) << i << ", " << c << " of " << where;
            }
        }
    }
}

TEST_P(Merge, SidesFarApart) {
    Sides sides(GetParam().dtype, {1, 1, 5, 16});
    const double of_a[] = {1000, -1000, 1e30, -1e30, 88}, of_b[] = {-1000, 1000, -1e30, 1e30, 0};
    for (std::int64_t i = 0; i < 5; i++) sides.lse_a.set({0, 0, i}, of_a[i]), sides.lse_b.set({0, 0, i}, of_b[i]);
    run_and_compare(sides);
}

TEST_P(Merge, OutputMayBeOneOfTheSides) {
    for (bool first : {true, false}) {
        Sides apart(GetParam().dtype, {2, 2, 11, 20}), same(GetParam().dtype, {2, 2, 11, 20});
        flashwright_merge_args args = apart.args();
        const flashwright_execution execution = with_kernel(GetParam().name.c_str());
        ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
        args = same.args();
        args.out = first ? args.out_a : args.out_b;
        args.lse = first ? args.lse_a : args.lse_b;
        ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
        EXPECT_EQ((first ? same.out_a : same.out_b).bytes(), apart.out.bytes());
        EXPECT_EQ((first ? same.lse_a : same.lse_b).bytes(), apart.lse.bytes());
    }
}

TEST_P(Merge, StaysInsideItsBuffers) {
    for (Place place : {Place::page_after, Place::page_before}) {
        for (std::int64_t rows : {1, 5, 16, 33}) {
            for (std::int64_t channels : {1, 7, 16, 33}) {
                Sides sides(GetParam().dtype, {1, 1, rows, channels});
                Sides guarded = sides;
                for (auto [to, from] : {std::pair{&guarded.out_a, &sides.out_a},
                                        {&guarded.out_b, &sides.out_b},
                                        {&guarded.lse_a, &sides.lse_a},
                                        {&guarded.lse_b, &sides.lse_b},
                                        {&guarded.out, &sides.out},
                                        {&guarded.lse, &sides.lse}}) {
                    *to = Tensor(from->dtype(), from->shape(), {}, place);
                    const std::vector<double> values = from->values();
                    to->assign([&](std::int64_t n) { return values[static_cast<std::size_t>(n)]; });
                }
                run_and_compare(guarded);
            }
        }
    }
}

TEST_P(Merge, ZeroExtents) {
    for (std::size_t axis = 0; axis < 3; axis++) {
        std::vector<std::int64_t> shape = {2, 2, 3, 4};
        shape[axis] = 0;
        Sides sides(GetParam().dtype, shape);
        const flashwright_merge_args args = sides.args();
        EXPECT_TRUE(is_ok(flashwright_merge(&args, nullptr)));
    }
}

// Attention over all keys is the merge of attention over any two parts of them.
TEST_P(Merge, ForwardOverSplitKeys) {
    const flashwright_dtype dtype = GetParam().dtype;
    const flashwright_execution isa = with_isa(GetParam().isa.c_str());
    const Shape shape{2, 4, 2, 19, 70, 16, 24};
    Problem whole(dtype, shape);
    const ReferenceAttention expected = reference_forward(whole);
    for (std::int64_t split : {1, 3, 16, 35, 69}) {
        Sides sides(dtype, {2, 4, 19, 24});
        for (int side = 0; side < 2; side++) {
            flashwright_forward_args args = whole.args();
            const std::int64_t begin = side == 0 ? 0 : split, end = side == 0 ? split : shape.seqlen_k;
            for (flashwright_tensor *tensor : {&args.k, &args.v}) {
                tensor->data = static_cast<char *>(tensor->data) +
                               begin * tensor->strides[2] * static_cast<std::int64_t>(size_of(dtype));
                tensor->shape[2] = end - begin;
            }
            args.out = (side == 0 ? sides.out_a : sides.out_b).view();
            args.softmax_lse = (side == 0 ? sides.lse_a : sides.lse_b).view();
            ASSERT_TRUE(is_ok(flashwright_forward(&args, &isa)));
        }
        run_and_compare(sides);
        EXPECT_TRUE(stored_values_match(dtype, sides.out.values(), expected.out, 2 * forward_tolerance(dtype)))
            << split;
        EXPECT_TRUE(lse_matches(sides.lse.values(), expected.softmax_lse, 2 * forward_tolerance(dtype))) << split;
    }
}

TEST_P(Merge, SameBytesForAnyThreads) {
    Sides one(GetParam().dtype, {2, 3, 130, 40});
    std::string expected;
    for (int threads : {1, 2, 3, 7}) {
        flashwright_execution execution = with_kernel(GetParam().name.c_str());
        execution.threads = threads;
        one.out.poison(), one.lse.poison();
        const flashwright_merge_args args = one.args();
        ASSERT_TRUE(is_ok(flashwright_merge(&args, &execution)));
        if (threads == 1) expected = one.out.bytes() + one.lse.bytes();
        EXPECT_EQ(one.out.bytes() + one.lse.bytes(), expected) << threads;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Merge, ::testing::ValuesIn(runnable_kernels("merge")), kernel_test_name);

}  // namespace flashwright::test
