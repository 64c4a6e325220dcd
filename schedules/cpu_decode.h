// CPU, fewer query rows than a vector has lanes: keys across the lanes in scores and softmax, channels in the weighted
// sum, so that no lane is empty and K and V are read once, in order, for all rows. The dot product of a key sums across
// lanes, which costs less than the channels' multiply-adds.
#pragma once

#include "kernels/cpu_tiles.h"

#include <Halide.h>

namespace flashwright {

struct ForwardAttention;

// The whole work is one tile of rows. tile_d is `lanes`; tile_k and tile_v are whole vectors of so many elements.
void schedule_decode_cpu(ForwardAttention &attention, const CpuTiles &tiles, int lanes);

}  // namespace flashwright
