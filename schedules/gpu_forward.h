// GPU: a thread owns query rows, all their channels or, with `parts` neighbours, its part of them. Its softmax state,
// the scores of a block and the value channels being summed lie in registers, Q in shared memory, padded so that
// threads meet different banks. Threads of a block read the same keys and values, 16 bytes a load, which the cache
// broadcasts. Cost: of a step of rows x block_k x 4 multiply-adds, block_k loads of K and `rows` of Q, so the share of
// multiply-adds is about 4 rows / (4 rows + 1 + rows / block_k). Registers: rows x (head_dim / parts + block_k +
// tile_v) and 4 block_k for the keys.
#pragma once

#include "kernels/gpu_tiles.h"

#include <Halide.h>

namespace flashwright {

struct ForwardAttention;

// Elements of the widest load, 16 bytes.
inline int gpu_load_lanes(const Halide::Type &stored) { return 16 / stored.bytes(); }

// `output(channel, row, head, batch)` is made of the tiles (row / block_q, head, batch) of `attention`; `k` reads K.
void schedule_forward_gpu(ForwardAttention &attention, Halide::Func output, Halide::Func k, const GpuTiles &tiles);

}  // namespace flashwright
