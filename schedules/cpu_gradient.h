// CPU schedule of the gradient of a tile: keys across the SIMD lanes for scores and dP, channels across the lanes for
// dQ, dK and dV, so that every product is a register tile of (vectors x columns) that reads its operands in place, one
// broadcast a multiply-add. Tiles are whole: the runtime pads.
#pragma once

#include <Halide.h>

namespace flashwright {

struct GradientTile;

struct GradientTiles {
    int width;   // keys, or channels, that lie across the lanes of a register tile
    int tile_q;  // query rows in the register tile of scores, dP and dQ
    int tile_k;  // keys in the register tile of dK and dV
};

// The outputs, to which a tile's sums are added; (channel, row | key).
struct GradientOutputs {
    Halide::Func dq, dk, dv;
};

// `update` is the update of each output that takes the tile.
void schedule_gradient_cpu(GradientTile &tile, GradientOutputs &outputs, int update, const GradientTiles &tiles,
                           int lanes);

}  // namespace flashwright
