// GPU, backward. A thread owns whole query rows or whole keys. Their gradients and the scores of a block are in
// registers. The operands of its rows (Q and dO, or K and V) are in shared memory, padded so that threads read
// different banks. All threads of a block read the same rows of the other side, 4 channels per load, which the cache
// broadcasts. No thread adds to what another thread owns, so there are no atomics and the order of additions is fixed.
//
// Cost of a step of rows x block_k x 4 multiply-adds: block_k loads of the other side and, in the products over
// channels, `rows` loads of its own. Registers: rows x (head_dim per gradient + 2 block_k + tile_v) and 4 block_k.
// kernels/gpu_tile_rules.h says which tiles are legal.
#pragma once

#include "algorithm/attention_gradient.h"
#include "kernels/gpu_tiles.h"

#include <Halide.h>

#include <vector>

namespace flashwright {

struct BackwardPass {
    bool owns_keys;  // else query rows
    // (channel, row): Q and dO; (channel, key): K and V. head_dim channels each.
    Halide::Func queries, keys;
    Halide::Type stored;  // the type of their elements in memory
    GradientTile tile;
    std::vector<Halide::Func> of_own_rows;  // (row, block): computed once per block
    Halide::RDom blocks;                    // x is the block of a head
    // (channel, row of the thread tile, thread tile, group): the sums over blocks, by an update, and the gradients made
    // of them. A thread tile is the rows that one thread owns.
    Halide::Func sums{"sums"}, gradients{"gradients"};
};

// `output(channel, gradient, row, group)` is a gradient of thread tile row / rows.
void schedule_backward_gpu(BackwardPass &pass, Halide::Func output, const GpuTiles &tiles);

// `output(key, 0, row, group)` is dS of a row and a key. A thread owns block_k pairs of one row.
void schedule_dbias_gpu(BackwardPass &pass, Halide::Func output, const GpuTiles &tiles);

}  // namespace flashwright
