#include "key_plan.h"

#include <algorithm>

namespace flashwright {

KeyPlan plan_keys(const KeyRange &keys, std::int64_t thread_block, const GpuTiles &tiles, bool test_all) {
    const std::int64_t rows = tiles.block_q(), length = tiles.block_k, first_row = thread_block * rows;
    const auto blocks_before = [&](std::int64_t key) { return std::max<std::int64_t>(key, 0) / length; };
    const auto blocks_up_to = [&](std::int64_t key) { return blocks_before(key + length - 1); };
    const std::int64_t lo = first_row + keys.lo_offset, hi = first_row + keys.hi_offset;
    const std::int64_t end = blocks_up_to(std::min(hi + rows, keys.key_count));
    const std::int64_t begin = std::min(blocks_before(lo), end);
    std::int64_t full_begin = std::max(begin, blocks_up_to(lo + rows - 1));
    std::int64_t full_end = blocks_before(std::min(hi + 1, keys.key_count));
    if (test_all || full_begin >= full_end) full_begin = full_end = begin;
    KeyPlan plan;
    int n = 0;
    for (const std::int64_t boundary : {begin, full_begin, full_end, end}) {
        plan.boundaries[n++] = static_cast<std::int32_t>(boundary);
    }
    return plan;
}

}  // namespace flashwright
