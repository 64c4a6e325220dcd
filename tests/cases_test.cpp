// Inputs that broke other attention kernels, over every forward kernel: each small enough to know the answer by hand.
#include "reference/element.h"
#include "tests/support/kernels.h"

#include <sys/mman.h>

#include <cmath>
#include <functional>
#include <limits>

namespace flashwright::test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kGarbage[] = {kNaN, kInfinity, -kInfinity};
// NaN of both signs and several payloads, which f32 has too.
const double kNaNs[] = {kNaN, -kNaN, std::nan("0x7654320000000"), -std::nan("0x0000020000000")};

}  // namespace

class Cases : public KernelTest {
 protected:
    flashwright_dtype dtype() const { return GetParam().dtype; }

    void fill(Tensor &tensor, double value) const {
        tensor.assign([=](std::int64_t) { return value; });
    }

    // Like fitting(), but keeps the number of keys.
    Shape wide(Shape shape) const {
        const std::int64_t keys = shape.seqlen_k;
        shape = fitting(shape);
        shape.seqlen_k = keys;
        return shape;
    }

    // k_j in the first channel, 0 in the others.
    template <typename Key>
    void set_keys(Problem &p, const Key &key) const {
        const std::int64_t channels = p.shape.head_dim, keys = p.shape.seqlen_k;
        p.k.assign([=](std::int64_t n) { return n % channels == 0 ? key(n / channels % keys) : 0; });
    }

    // v_j = j in every channel.
    void number_values(Problem &p) const {
        const std::int64_t channels = p.shape.head_dim_v, keys = p.shape.seqlen_k;
        p.v.assign([=](std::int64_t n) { return static_cast<double>(n / channels % keys); });
    }

    // q = k = 0 and v_j = j.
    Problem uniform(const Shape &shape, const Options &options = {}) const {
        Problem p(dtype(), shape, options);
        fill(p.q, 0), fill(p.k, 0);
        number_values(p);
        return p;
    }

    // The shapes for a case with one channel and few keys: this one, and one that is wide and long enough for any
    // kernel. There a key length ends after the keys of the case, and the keys past it hold NaN.
    std::vector<Shape> sizes(std::int64_t queries, std::int64_t keys) const {
        const auto &kernel = GetParam();
        return {{1, 1, 1, queries, keys, 1, 1},
                {1, 1, 1, queries, keys, kernel.tile_d, std::max(kernel.tile_d, kernel.tile_v) + 1},
                {1, 1, 1, queries, std::max(keys, kernel.tile_k) + 3, kernel.tile_d,
                 std::max(kernel.tile_d, kernel.tile_v) + 1}};
    }

    void limit_keys(Problem &p, std::int64_t keys) const {
        if (p.shape.seqlen_k == keys) return;
        p.key_lengths = Tensor(FLASHWRIGHT_I32, {p.shape.batch});
        fill(p.key_lengths, static_cast<double>(keys));
        for (Tensor *tensor : {&p.k, &p.v}) {
            const std::int64_t channels = tensor->shape()[3], capacity = p.shape.seqlen_k;
            const std::vector<double> before = tensor->values();
            tensor->assign([&](std::int64_t n) {
                return n / channels % capacity < keys ? before[static_cast<std::size_t>(n)] : kNaN;
            });
        }
    }

    // Expects the given value in every channel of each row, and lse.
    void expect_rows(Problem &p, const std::vector<double> &rows, const std::vector<double> &lse) const {
        SCOPED_TRACE(p.describe());
        ASSERT_TRUE(is_ok(run(p, execution_for(p))));
        ReferenceAttention expected{{}, lse};
        for (double row : rows)
            expected.out.insert(expected.out.end(), static_cast<std::size_t>(p.shape.head_dim_v), row);
        EXPECT_TRUE(outputs_match(p, expected));
    }
};

// A fully masked row has out = 0 and lse = -infinity, also between other rows.
TEST_P(Cases, FullyMaskedRow) {
    const double log2 = std::log(2.0), log4 = std::log(4.0);
    for (const Shape &shape : sizes(3, 4)) {
        for (bool as_bias : {false, true}) {
            Options options;
            (as_bias ? options.bias : options.mask) = Coverage{};
            Problem p = uniform(shape, options);
            limit_keys(p, 4);
            for (std::int64_t i = 0; i < 3; i++) {
                for (std::int64_t j = 0; j < shape.seqlen_k; j++) {
                    const bool unmasked = i == 2 || (i == 0 && j < 2);
                    if (as_bias)
                        p.bias.set({0, 0, i, j}, unmasked ? 0 : -kInfinity);
                    else
                        p.mask.set({0, 0, i, j}, unmasked);
                }
            }
            expect_rows(p, {0.5, 0, 1.5}, {log2, -kInfinity, log4});
        }
    }
}

TEST_P(Cases, EmptyRowsAnywhereInATile) {
    const std::int64_t rows = GetParam().block_q + 2;
    for (std::int64_t keys : {1, 63, 64, 65}) {
        for (std::int64_t empty : {std::int64_t{0}, rows / 2, GetParam().block_q - 1, GetParam().block_q, rows - 1}) {
            Options options;
            options.mask = Coverage{};
            Problem p = uniform(wide({1, 1, 1, rows, keys, 1, 1}), options);
            p.mask.assign([=](std::int64_t n) { return n / keys != empty; });
            std::vector<double> out(static_cast<std::size_t>(rows), static_cast<double>(keys - 1) / 2);
            std::vector<double> lse(static_cast<std::size_t>(rows), std::log(static_cast<double>(keys)));
            out[static_cast<std::size_t>(empty)] = 0, lse[static_cast<std::size_t>(empty)] = -kInfinity;
            expect_rows(p, out, lse);
        }
    }
}

// A bias of the lowest finite number leaves weight 0 beside larger scores, and equal weights in a row of its own.
TEST_P(Cases, LowestFiniteBiasAsMask) {
    const double lowest = -largest_of(dtype());
    for (const Shape &shape : sizes(2, 4)) {
        Options options;
        options.bias = Coverage{};
        Problem p = uniform(shape, options);
        limit_keys(p, 4);
        fill(p.bias, lowest);
        p.bias.set({0, 0, 1, 2}, 0);
        expect_rows(p, {1.5, 2}, {lowest, 0});
    }
}

// What lies past the key length has no effect, not even NaN.
TEST_P(Cases, GarbagePastTheKeyLength) {
    for (std::int64_t capacity : {std::int64_t{64}, GetParam().block_k + 64}) {
        for (std::int64_t length : {0, 1, 5, 63, 64}) {
            Problem p(dtype(), wide({1, 1, 1, 1, capacity, 16, GetParam().tile_v + 1}));
            p.key_lengths = Tensor(FLASHWRIGHT_I32, {1});
            fill(p.key_lengths, static_cast<double>(length));
            const auto with_garbage = [&](double garbage) {
                for (Tensor *tensor : {&p.k, &p.v}) {
                    const std::int64_t channels = tensor->shape()[3];
                    fill_g(*tensor, tensor == &p.k ? 2 : 3);
                    for (std::int64_t j = length; j < capacity; j++)
                        for (std::int64_t c = 0; c < channels; c++) tensor->set({0, 0, j, c}, garbage);
                }
                EXPECT_TRUE(is_ok(run(p, execution_for(p))));
                EXPECT_TRUE(outputs_match(p, reference_forward(p))) << length << " keys, then " << garbage;
                return p.out.bytes() + p.lse.bytes();
            };
            const std::string clean = with_garbage(0);
            for (double garbage : kGarbage)
                EXPECT_EQ(with_garbage(garbage), clean) << length << " keys, then " << garbage;
        }
    }
}

TEST_P(Cases, GarbageBehindCausalityWindowAndMask) {
    const std::int64_t keys = 2 * GetParam().tile_k + 7, queries = GetParam().block_q + 3;
    Options causal, window, mask, bias;
    causal.causal = true;
    window.window_left = 2, window.window_right = 3, window.diagonal = 1;
    mask.mask = Coverage{};
    bias.bias = Coverage{}, bias.bias_masks = true;
    for (const Options &options : {causal, window, mask, bias}) {
        for (double garbage : kGarbage) {
            // A few keys hold garbage. Rows that attend to one of them are not finite; the others match the reference.
            Problem p(dtype(), fitting({1, 2, 1, queries, keys, 8, 8}), options),
                clean = Problem(dtype(), p.shape, options);
            clean.bias = p.bias, clean.mask = p.mask;
            std::vector<std::int64_t> bad = {5, keys / 2, keys - 1};
            for (std::int64_t j : bad)
                for (std::int64_t c = 0; c < p.shape.head_dim_v; c++) p.v.set({0, 0, j, c}, garbage);
            SCOPED_TRACE(p.describe());
            ASSERT_TRUE(is_ok(run(p, execution_for(p))));
            const ReferenceAttention with_bad = reference_forward(p), without = reference_forward(clean);
            const std::vector<double> out = p.out.values();
            double largest = 0;
            for (double value : without.out) largest = std::max(largest, std::fabs(value));
            for (std::size_t n = 0; n < out.size(); n++) {
                if (std::isfinite(with_bad.out[n])) {
                    ASSERT_NEAR(out[n], without.out[n],
                                forward_tolerance(dtype()) * largest + rounding_radius(dtype(), out[n]))
                        << n;
                } else
                    ASSERT_FALSE(std::isfinite(out[n])) << n;
            }
            EXPECT_TRUE(lse_matches(p.lse.values(), without.softmax_lse, forward_tolerance(dtype())));
        }
    }
}

TEST_P(Cases, GarbageInAQueryReachesOnlyItsRow) {
    const std::int64_t keys = GetParam().tile_k + 5, queries = GetParam().block_q + 3;
    for (std::int64_t bad : {std::int64_t{0}, queries / 2, queries - 1}) {
        for (double garbage : kGarbage) {
            Problem p(dtype(), fitting({1, 1, 1, queries, keys, 8, 8}));
            const ReferenceAttention clean = reference_forward(p);
            p.q.set({0, 0, bad, 3}, garbage);
            ASSERT_TRUE(is_ok(run(p, execution_for(p))));
            const std::vector<double> out = p.out.values(), lse = p.lse.values();
            for (std::int64_t i = 0; i < queries; i++) {
                const auto row = static_cast<std::size_t>(i),
                           first = row * static_cast<std::size_t>(p.shape.head_dim_v);
                if (i == bad) {
                    EXPECT_FALSE(std::isfinite(out[first])) << "row " << i;
                    EXPECT_FALSE(std::isfinite(lse[row])) << "row " << i;
                } else {
                    EXPECT_NEAR(out[first], clean.out[first],
                                forward_tolerance(FLASHWRIGHT_F32) + rounding_radius(dtype(), out[first]))
                        << "row " << i;
                    EXPECT_NEAR(lse[row], clean.softmax_lse[row], 1e-4) << "row " << i;
                }
            }
        }
    }
}

TEST_P(Cases, NaNInAKeyReachesEveryRowThatAttendsToIt) {
    Options options;
    options.causal = true;
    const std::int64_t keys = GetParam().tile_k + 5, bad = 4;
    for (double nan : kNaNs) {
        for (bool in_value : {false, true}) {
            Problem p(dtype(), fitting({1, 1, 1, keys, keys, 8, 8}), options);
            (in_value ? p.v : p.k).set({0, 0, bad, 2}, nan);
            ASSERT_TRUE(is_ok(run(p, execution_for(p))));
            for (std::int64_t i = 0; i < keys; i++) {
                EXPECT_EQ(std::isnan(p.out.get({0, 0, i, 2})), i >= bad) << "row " << i;
                EXPECT_EQ(std::isnan(p.out.get({0, 0, i, 0})), i >= bad && !in_value) << "row " << i;
                EXPECT_EQ(std::isnan(p.lse.get({0, 0, i})), i >= bad && !in_value) << "row " << i;
            }
        }
    }
}

// A score of -infinity has weight 0. A row with only such scores has out = 0 and lse = -infinity.
TEST_P(Cases, ScoresOfMinusInfinity) {
    Options options;
    options.causal = true;
    for (std::int64_t infinite : {std::int64_t{1}, GetParam().tile_k, GetParam().tile_k + 5}) {
        const std::int64_t keys = GetParam().tile_k + 5;
        Problem p(dtype(), fitting({1, 1, 1, keys, keys, 8, 8}), options);
        fill(p.q, 1);
        set_keys(p, [=](std::int64_t j) { return j < infinite ? -kInfinity : static_cast<double>(j % 5) / 4; });
        check(p);
    }
}

// Scores whose exponential would overflow.
TEST_P(Cases, LargeScores) {
    {
        Options options;
        options.softmax_scale = 0.125;
        for (Shape shape : sizes(1, 2)) {
            shape.head_dim = 64;
            Problem p(dtype(), shape, options);
            fill(p.q, 32);
            p.k.assign([=](std::int64_t n) { return n < shape.head_dim ? 32 : 31.75; });
            p.v.assign([&](std::int64_t n) { return n < shape.head_dim_v ? 1 : 5; });
            limit_keys(p, 2);
            expect_rows(p, {1}, {8192});
        }
    }
    for (std::int64_t keys : {64, 65}) {
        Problem p = uniform(fitting({1, 1, 1, 3, keys, 4, 4}));
        fill(p.v, 2048);
        const double lse = std::log(static_cast<double>(keys));
        expect_rows(p, {2048, 2048, 2048}, {lse, lse, lse});
    }
    for (double sign : {1.0, -1.0}) {
        Options options;
        options.softmax_scale = sign;
        Problem p(dtype(), fitting({1, 1, 1, 4, 70, 1, 1}), options);
        fill(p.q, 1e15);
        set_keys(p, [](std::int64_t j) { return j % 2 ? 1e15 : -1e15; });
        number_values(p);
        check(p);
        EXPECT_NEAR(std::fabs(p.lse.get({0, 0, 0})), 1e30, 1e24);
    }
}

// Long sums stay exact.
TEST_P(Cases, LongSums) {
    const double lse = std::log(4096.0);
    Problem p = uniform(fitting({1, 1, 1, 2, 4096, 8, 8}));
    fill(p.v, 1);
    expect_rows(p, {1, 1}, {lse, lse});
    const std::int64_t channels = p.shape.head_dim_v;
    p.v.assign([=](std::int64_t n) { return static_cast<double>(n / channels % 2); });
    expect_rows(p, {0.5, 0.5}, {lse, lse});
}

// Not one to the base 2. merge_test.cpp has the same numbers.
TEST_P(Cases, LseIsANaturalLogarithm) {
    for (const Shape &shape : sizes(1, 8)) {
        Problem p = uniform(shape);
        limit_keys(p, 8);
        expect_rows(p, {3.5}, {2.0794415416798357});
    }
}

// The diagonal ends at the last key, or starts at the first.
TEST_P(Cases, CausalWithUnequalLengths) {
    Options bottom_right;
    bottom_right.causal = true, bottom_right.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    Options top_left = bottom_right;
    top_left.align = FLASHWRIGHT_ALIGN_TOP_LEFT;
    for (const Shape &shape : sizes(2, 5)) {
        Problem p = uniform(shape, bottom_right);
        limit_keys(p, 5);
        expect_rows(p, {1.5, 2}, {std::log(4.0), std::log(5.0)});
        Problem other = uniform(shape, top_left);
        limit_keys(other, 5);
        expect_rows(other, {0, 0.5}, {0, std::log(2.0)});
    }
    bottom_right.softmax_scale = 1;
    for (const Shape &shape : sizes(5, 2)) {
        Problem p(dtype(), shape, bottom_right);
        fill(p.q, 0);
        set_keys(p, [](std::int64_t j) { return j == 0 ? 1 : 3; });
        p.v.assign([&](std::int64_t n) { return n < shape.head_dim_v ? 1 : 2; });
        limit_keys(p, 2);
        expect_rows(p, {0, 0, 0, 1, 1.5}, {-kInfinity, -kInfinity, -kInfinity, 0, std::log(2.0)});
    }
}

TEST_P(Cases, CausalSweep) {
    for (std::int64_t queries : {1, 2, 7, 16, 17, 33}) {
        for (std::int64_t keys : {1, 2, 7, 16, 17, 33}) {
            for (auto align : {FLASHWRIGHT_ALIGN_TOP_LEFT, FLASHWRIGHT_ALIGN_BOTTOM_RIGHT}) {
                Options options;
                options.causal = true, options.align = align;
                Problem p(dtype(), wide({1, 1, 1, queries, keys, 4, 4}), options);
                check(p);
            }
        }
    }
}

// Sizes beside those of vectors and tiles, and nothing is touched past the end of a buffer.
TEST_P(Cases, SizesThatFillNoVectorOrTile) {
    Options unit;
    unit.softmax_scale = 1;
    for (std::int64_t channels : {1, 3, 17, 40, 80, 96, 192, 256, 576}) {
        for (Place place : {Place::page_after, Place::page_before}) {
            for (Shape shape : sizes(1, 3)) {
                shape.head_dim = std::max(shape.head_dim, channels),
                shape.head_dim_v = std::max(shape.head_dim_v, channels);
                Layout layout;
                layout.place = place;
                Problem p(dtype(), shape, unit, layout);
                fill(p.q, 1), fill(p.k, 0);
                for (std::int64_t j = 0; j < 3; j++)
                    p.k.set({0, 0, j, shape.head_dim - 1}, std::log(static_cast<double>(j + 1)));
                number_values(p);
                limit_keys(p, 3);
                expect_rows(p, {4.0 / 3}, {std::log(6.0)});
            }
        }
    }
    for (std::int64_t t : {1, 2, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 257}) {
        for (const Shape &shape : sizes(t, t)) {
            Problem p(dtype(), shape, unit);
            fill(p.q, 1);
            set_keys(p, [](std::int64_t j) { return std::log(static_cast<double>(j + 1)); });
            number_values(p);
            limit_keys(p, t);
            const auto n = static_cast<double>(t);
            expect_rows(p, std::vector<double>(static_cast<std::size_t>(t), 2 * (n - 1) / 3),
                        std::vector<double>(static_cast<std::size_t>(t), std::log(n * (n + 1) / 2)));
        }
    }
}

// No batch entry, head or query: nothing is written. No key: out = 0 and lse = -infinity.
TEST_P(Cases, ZeroExtents) {
    const auto isa = with_isa(GetParam().isa.c_str());
    for (int axis = 0; axis < 4; axis++) {
        Shape shape{2, 2, 1, 3, 20, 4, 32};
        (axis == 0 ? shape.batch : axis == 1 ? shape.heads : axis == 2 ? shape.seqlen_q : shape.seqlen_k) = 0;
        Problem p(dtype(), shape);
        SCOPED_TRACE(p.describe());
        ASSERT_TRUE(is_ok(run(p, isa)));
        if (axis < 3) {
            EXPECT_TRUE(p.outputs_untouched());
            continue;
        }
        const std::vector<double> none(static_cast<std::size_t>(p.lse.count()), -kInfinity);
        EXPECT_TRUE(outputs_match(p, {std::vector<double>(static_cast<std::size_t>(p.out.count()), 0.0), none}));
    }
}

// Offsets in bytes that do not fit 32 bits.
TEST_P(Cases, OffsetsPast2To31) {
    const std::int64_t stride = (std::int64_t{1} << 29) + 16, keys = std::max<std::int64_t>(2, GetParam().tile_k);
    const std::int64_t channels = std::max({std::int64_t{8}, GetParam().tile_d, GetParam().tile_v});
    const std::int64_t size = static_cast<std::int64_t>(size_of(dtype()));
    const std::size_t bytes = static_cast<std::size_t>((4 * stride + keys * channels) * size);
    Problem packed(dtype(), {5, 1, 1, 2, keys, channels, channels});
    ASSERT_TRUE(is_ok(run(packed, execution_for(packed))));

    flashwright_forward_args args = packed.args();
    std::vector<std::pair<flashwright_tensor *, const Tensor *>> tensors = {
        {&args.q, &packed.q}, {&args.k, &packed.k}, {&args.v, &packed.v}, {&args.out, &packed.out}};
    std::vector<void *> mappings;
    const auto copy = [&](bool out, auto move) {
        for (auto &[view, tensor] : tensors) {
            if ((tensor == &packed.out) != out) continue;
            const std::size_t block = static_cast<std::size_t>(tensor->count() / 5 * size);
            const std::string source = tensor->bytes();
            for (std::size_t b = 0; b < 5; b++)
                move(static_cast<char *>(view->data) + static_cast<std::int64_t>(b) * stride * size,
                     source.data() + b * block, block);
        }
    };
    for (auto &[view, tensor] : tensors) {
        void *mapping =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(mapping, MAP_FAILED);
        mappings.push_back(mapping);
        view->data = mapping;
        view->strides[0] = stride;
    }
    copy(false, [](char *to, const char *from, std::size_t n) { std::copy(from, from + n, to); });
    const flashwright_execution execution = execution_for(packed);
    EXPECT_TRUE(is_ok(flashwright_forward(&args, &execution)));
    copy(true, [](char *got, const char *expected, std::size_t n) {
        EXPECT_EQ(std::string(got, n), std::string(expected, n));
    });
    for (void *mapping : mappings) munmap(mapping, bytes);
}

// Scores that are far apart in two blocks, with the larger ones first or last.
TEST_P(Cases, ScoresFarApartBetweenBlocks) {
    Options unit;
    unit.softmax_scale = 1;
    const std::int64_t keys = 2 * std::min<std::int64_t>(GetParam().block_k, 1024) + 5;
    for (double sign : {1.0, -1.0}) {
        Problem p(dtype(), fitting({1, 1, 1, 3, keys, 1, 1}), unit);
        fill(p.q, sign);
        set_keys(p, [=](std::int64_t j) {
            return j < keys / 2 ? 1100.0 + static_cast<double>(j % 3) : -1100.0 - static_cast<double>(j % 3);
        });
        check(p);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Cases, ::testing::ValuesIn(runnable_kernels("forward")), kernel_test_name);

}  // namespace flashwright::test
