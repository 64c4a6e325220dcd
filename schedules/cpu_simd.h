// CPU: query rows across the SIMD lanes, so that row maximum, sum and rescale never cross lanes. The two matrix products are
// register tiles of (row_vectors vectors of rows) x (tile_k keys | tile_v channels); K and V are read in place, one broadcast
// a multiply-add. Only Q is transposed, once a tile.
#pragma once

#include "cpu_simd_tiles.h"

#include <Halide.h>

#include <vector>

namespace flashwright {

struct BlockSoftmax;
struct ForwardAttention;
class OnlineSoftmax;

// Every schedule here is for pipelines whose whole work is one tile of tiles.block_q rows; `lanes` is the elements of a vector.
void schedule_forward_cpu(ForwardAttention &attention, const CpuSimdTiles &tiles, int lanes);

// The softmax of blocks that is taken in by update `update` of `state`, from given scores.
void schedule_block_softmax_cpu(BlockSoftmax &softmax, OnlineSoftmax &state, int update, const CpuSimdTiles &tiles, int lanes);

// Scores that come from memory are gathered once a block.
void schedule_given_scores_cpu(BlockSoftmax &softmax, OnlineSoftmax &state, const CpuSimdTiles &tiles, int lanes);

// The state and the outputs made of it: `matrix(channel, row)` and `vectors(row)`.
void schedule_state_outputs_cpu(OnlineSoftmax &state, Halide::Func matrix, const std::vector<Halide::Func> &vectors,
                                int block_q, int lanes);

}  // namespace flashwright
