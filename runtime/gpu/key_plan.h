// Which blocks of keys the rows of a thread block meet, and which of these are full.
#pragma once

#include <cstdint>

#include "kernels/gpu_tiles.h"

namespace flashwright {

// For one batch entry: row i attends to key j if and only if i + lo_offset <= j <= i + hi_offset and j < key_count.
struct KeyRange {
    std::int64_t lo_offset, hi_offset, key_count;
};

// The rows meet the blocks [boundaries[0], boundaries[3]). Of these [boundaries[1], boundaries[2]) are full blocks, in
// which no key is masked. There are none if each key must be tested.
struct KeyPlan {
    std::int32_t boundaries[4];
};

KeyPlan plan_keys(const KeyRange &keys, std::int64_t thread_block, const GpuTiles &tiles, bool test_all);

}  // namespace flashwright
