// GPU, forward. A thread owns query rows. With threads_per_row > 1, neighbouring threads own the same rows and share
// their channels. The softmax state, the scores of a block and the value channels being summed are in registers. Q is
// in shared memory, padded so that threads read different banks. All threads of a block read the same keys and values,
// 16 bytes per load, which the cache broadcasts.
//
// Cost of a step of rows x block_k x 4 multiply-adds: block_k loads of K and `rows` loads of Q. So the share of
// multiply-adds is about 4 rows / (4 rows + 1 + rows / block_k). Registers: rows x (channels_per_thread + block_k +
// tile_v) and 4 block_k for the keys. kernels/gpu_tile_rules.h says which tiles are legal.
#pragma once

#include "kernels/gpu_tiles.h"

#include <Halide.h>

namespace flashwright {

struct ForwardAttention;

// Elements of the widest load, 16 bytes.
inline int gpu_load_lanes(const Halide::Type &stored) { return 16 / stored.bytes(); }

// `output(channel, row, head, batch)` consists of the tiles (row / block_q, head, batch) of `attention`. `k` reads K.
void schedule_forward_gpu(ForwardAttention &attention, Halide::Func output, Halide::Func k, const GpuTiles &tiles);

}  // namespace flashwright
