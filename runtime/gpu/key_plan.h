// Which blocks of keys the rows of a thread block meet.
#pragma once

#include <cstdint>

#include "kernels/gpu_tiles.h"

namespace flashwright {

// Of one batch entry: row i sees key j iff i + lo_offset <= j <= i + hi_offset and j < key_count.
struct KeyRange {
    std::int64_t lo_offset, hi_offset, key_count;
};

// Blocks [boundaries[0], boundaries[3]) are met; all rows see [boundaries[1], boundaries[2]) whole, which is empty
// where each key must be tested.
struct KeyPlan {
    std::int32_t boundaries[4];
};

KeyPlan plan_keys(const KeyRange &keys, std::int64_t thread_block, const GpuTiles &tiles, bool test_all);

}  // namespace flashwright
