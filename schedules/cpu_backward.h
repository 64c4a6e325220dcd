// CPU schedule of the gradient of a tile: keys across the SIMD lanes for scores and dP, channels across the lanes for
// dQ, dK and dV, so that every product is a register tile of (vectors x columns) that reads its operands in place, one
// broadcast a multiply-add. Tiles are whole: the runtime pads.
#pragma once

#include "kernels/cpu_tiles.h"

#include <Halide.h>

namespace flashwright {

struct GradientTile;

// The outputs, to which a tile's sums are added; (channel, row | key).
struct BackwardOutputs {
    Halide::Func dq, dk, dv;
};

// `update` is the update of each output that takes the tile.
void schedule_backward_cpu(GradientTile &tile, BackwardOutputs &outputs, int update, const CpuTiles &tiles, int lanes);

}  // namespace flashwright
