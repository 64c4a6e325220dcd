// Plans of key blocks against the unmasked keys of each row, counted one by one.
#include "runtime/gpu/key_plan.h"

#include <gtest/gtest.h>

namespace flashwright::test {
namespace {

bool attends(const KeyRange &keys, std::int64_t row, std::int64_t key) {
    return row + keys.lo_offset <= key && key <= row + keys.hi_offset && key < keys.key_count;
}

void check_plan(const KeyRange &keys, std::int64_t thread_block, const GpuTiles &tiles, bool test_all) {
    const KeyPlan plan = plan_keys(keys, thread_block, tiles, test_all);
    const auto &[begin, full_begin, full_end, end] = plan.boundaries;
    ASSERT_TRUE(0 <= begin && begin <= full_begin && full_begin <= full_end && full_end <= end);
    for (std::int64_t key = 0; key < keys.key_count + 2 * tiles.block_k; ++key) {
        const std::int64_t block = key / tiles.block_k;
        for (std::int64_t i = 0; i < tiles.block_q(); ++i) {
            const bool unmasked = attends(keys, thread_block * tiles.block_q() + i, key);
            ASSERT_FALSE(unmasked && (block < begin || block >= end)) << "key " << key << " is left out";
            ASSERT_FALSE(!unmasked && block >= full_begin && block < full_end) << "key " << key << " is not tested";
        }
    }
    if (test_all) {
        EXPECT_EQ(full_end, begin);
    }
}

}  // namespace

TEST(KeyPlan, CoversUnmaskedKeysAndTestsOthers) {
    constexpr std::int64_t kFar = std::int64_t{1} << 30;
    for (const GpuTiles &tiles : {GpuTiles{32, 4, 2, 4, 4, 4}, GpuTiles{32, 8, 1, 16, 4, 4}}) {
        for (const std::int64_t lo : {-kFar, std::int64_t{-9}, std::int64_t{0}, std::int64_t{5}, kFar}) {
            for (const std::int64_t hi : {-kFar, std::int64_t{-9}, std::int64_t{0}, std::int64_t{6}, kFar}) {
                for (const std::int64_t count : {0, 1, 15, 16, 17, 40}) {
                    for (const std::int64_t thread_block : {0, 1, 5}) {
                        check_plan({lo, hi, count}, thread_block, tiles, false);
                        check_plan({lo, hi, count}, thread_block, tiles, true);
                    }
                }
            }
        }
    }
}

}  // namespace flashwright::test
