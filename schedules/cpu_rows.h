// CPU: query rows across the SIMD lanes, so that row maximum, sum and rescale never cross lanes. The two matrix
// products are register tiles of (row_vectors vectors of rows) x (tile_k keys | tile_v channels); K and V are read in
// place, one broadcast a multiply-add. Only Q is transposed, once a tile.
#pragma once

#include "kernels/cpu_tiles.h"

#include <Halide.h>

namespace flashwright {

struct BlockSoftmax;
struct ForwardAttention;
struct TransposedCopy;
class OnlineSoftmax;

// Every schedule here is for pipelines whose whole work is one tile of tiles.block_q rows; `lanes` is the elements of a
// vector.
void schedule_forward_cpu(ForwardAttention &attention, const CpuTiles &tiles, int lanes);

// The softmax of blocks that is taken in by update `update` of `state`, from given scores.
void schedule_block_softmax_cpu(BlockSoftmax &softmax, OnlineSoftmax &state, int update, const CpuTiles &tiles,
                                int lanes);

// Scores that come from memory are gathered once a block.
void schedule_given_scores_cpu(BlockSoftmax &softmax, OnlineSoftmax &state, int update, const CpuTiles &tiles,
                               int lanes);

// The state and what is made of it at the end.
void schedule_state_cpu(OnlineSoftmax &state, const CpuTiles &tiles, int lanes);

// f(row, …), computed once for the whole tile.
void schedule_rows_cpu(Halide::Func f, const Halide::Var &row, const CpuTiles &tiles, int lanes);

// An output, vectors along its first dimension.
void schedule_output_cpu(Halide::Func output, int lanes);

// Transposed copies: of a whole tile of rows, and of as many rows as an output has.
void schedule_rows_to_lanes_cpu(TransposedCopy copy, const CpuTiles &tiles);
void schedule_lanes_to_rows_cpu(TransposedCopy copy);

}  // namespace flashwright
