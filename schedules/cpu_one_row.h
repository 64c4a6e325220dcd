// CPU, one query row: keys across the SIMD lanes in scores and softmax, channels in the weighted sum, so that no lane
// is empty and K and V are read once, in order. The dot product of a key sums across lanes, which costs less than the
// channels' multiply-adds.
#pragma once

#include "cpu_simd_tiles.h"

#include <Halide.h>

namespace flashwright {

struct ForwardAttention;

// The whole work is one row: tiles.block_q is 1. tile_k and tile_v are whole vectors of `lanes` elements.
void schedule_one_row_cpu(ForwardAttention &attention, const CpuSimdTiles &tiles, int lanes);

}  // namespace flashwright
