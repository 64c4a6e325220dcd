// Runs of key blocks for a tile of rows, against the definition of unmasked keys.
#include "runtime/src/tile_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace flashwright::test {

namespace {

bool attends(const KeyVisibility &keys, std::int64_t row, std::int64_t key) {
    __extension__ typedef __int128 Wide;
    const Wide diagonal = static_cast<Wide>(row) + keys.diagonal;
    return key < keys.key_count && (keys.window_left < 0 || key >= diagonal - keys.window_left) &&
           (keys.window_right < 0 || key <= diagonal + keys.window_right);
}

bool within(const KeyRun &run, std::int64_t key) { return run.begin <= key && key < run.end(); }

void check_run(const KeyRun &run, const KeyVisibility &keys, const BlockShape &shape, std::int64_t longest) {
    ASSERT_GE(run.count, 0);
    if (run.count == 0) return;
    ASSERT_LE(0, run.begin);
    ASSERT_LE(run.end(), keys.seqlen_k);
    ASSERT_GE(run.length, shape.tile_k);
    ASSERT_LE(run.length, longest);
    if (run.count > 1) {
        ASSERT_LE(run.length, shape.block_k);
    }
}

void check(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, const BlockShape &shape) {
    const TilePlan plan = plan_tile(keys, row_begin, rows, shape);
    bool any = false;
    for (std::int64_t j = 0; j < keys.seqlen_k; j++) {
        const bool full = within(plan.full, j), masked = within(plan.left, j) || within(plan.right, j);
        ASSERT_LE(within(plan.left, j) + full + within(plan.right, j), 1) << "key " << j;
        for (std::int64_t i = 0; i < rows; i++) {
            const bool unmasked = attends(keys, row_begin + i, j);
            any = any || unmasked;
            if (unmasked) {
                ASSERT_TRUE(full || masked) << "key " << j << " row " << i;
            }
            if (full) {
                ASSERT_TRUE(unmasked && !keys.everything_masked) << "key " << j << " row " << i;
            }
            if (masked) {
                ASSERT_EQ(j >= i + plan.lo_offset && j <= i + plan.hi_offset && j < keys.key_count, unmasked)
                    << "key " << j << " row " << i;
            }
        }
    }
    for (const KeyRun &run : {plan.left, plan.full, plan.right}) {
        check_run(run, keys, shape, longest_block(shape, rows));
        if (!any) {
            ASSERT_EQ(run.count, 0);
        }
    }
}

}  // namespace

TEST(TilePlan, CoversUnmaskedKeys) {
    std::mt19937 random(7);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const std::int64_t extremes[] = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                     std::int64_t{1} << 31, -(std::int64_t{1} << 31)};
    for (int n = 0; n < 20000; n++) {
        KeyVisibility keys;
        BlockShape shape;
        shape.tile_k = 1 + below(17);
        shape.block_k = shape.tile_k * (2 + below(3)) + below(5);
        keys.seqlen_k = shape.tile_k + below(below(10) ? 80 : 2000);
        keys.key_count = below(3) ? keys.seqlen_k : below(keys.seqlen_k + 1);
        keys.diagonal = below(20) ? below(160) - 80 : extremes[below(4)];
        if (below(2)) keys.window_left = below(20) ? below(60) : std::numeric_limits<std::int64_t>::max();
        if (below(2)) keys.window_right = below(20) ? below(60) : std::numeric_limits<std::int64_t>::max();
        keys.everything_masked = below(5) == 0;
        const std::int64_t row_begin = below(100), rows = 1 + below(33);
        SCOPED_TRACE(::testing::Message()
                     << "seqlen_k " << keys.seqlen_k << " key_count " << keys.key_count << " diagonal " << keys.diagonal
                     << " window " << keys.window_left << "," << keys.window_right
                     << (keys.everything_masked ? " masked" : "") << " rows " << row_begin << "+" << rows << " tile_k "
                     << shape.tile_k << " block_k " << shape.block_k);
        check(keys, row_begin, rows, shape);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(TilePlan, SumsSaturate) {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                           highest = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(saturating_add(highest, 1), highest);
    EXPECT_EQ(saturating_add(lowest, -1), lowest);
    EXPECT_EQ(saturating_add(3, -5), -2);
    EXPECT_EQ(saturating_subtract(lowest, 1), lowest);
    EXPECT_EQ(saturating_subtract(highest, -1), highest);
    EXPECT_EQ(saturating_subtract(3, 5), -2);
}

}  // namespace flashwright::test
