// GPU, backward: a thread owns whole rows of queries or of keys. Their gradients and the scores of a block lie in
// registers, what belongs to its rows (Q and dO, or K and V) in shared memory, padded so that threads meet different
// banks. All threads of a block read the same rows of the other side, 4 channels a load, which the cache broadcasts.
// No thread adds to what another one owns, so there are no atomics and one order of additions.
// Cost: of a step of rows x block_k x 4 multiply-adds, block_k loads of the other side and, in the products over
// channels, `rows` of its own. Registers: rows x (head_dim a gradient + 2 block_k + tile_v) and 4 block_k.
#pragma once

#include "algorithm/attention_gradient.h"
#include "kernels/gpu_tiles.h"

#include <Halide.h>

#include <vector>

namespace flashwright {

struct GradientPass {
    bool owns_keys;  // else query rows
    // (channel, row): Q and dO; (channel, key): K and V. head_dim channels each.
    Halide::Func queries, keys;
    Halide::Type stored;  // the type of their elements in memory
    GradientTile way;
    std::vector<Halide::Func> of_own_rows;  // (row, block): computed once a block
    Halide::RDom blocks;                    // x is the block of a head
    // (channel, row of the strip, strip, group): what the blocks add up to, by an update, and the gradients.
    Halide::Func sums{"sums"}, gradients{"gradients"};
};

// `output(channel, gradient, row, group)` is made of the gradients of strip row / rows.
void schedule_gradient_gpu(GradientPass &pass, Halide::Func output, const GpuTiles &tiles);

// `output(key, 0, row, group)` is made of dS of each pair of a row and a key. A thread owns block_k pairs of one row.
void schedule_score_gradient_gpu(GradientPass &pass, Halide::Func output, const GpuTiles &tiles);

}  // namespace flashwright
