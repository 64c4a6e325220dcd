// The tile parameters of the GPU schedules. Plain data: the generators and the runtime share it.
#pragma once

namespace flashwright {

struct GpuTiles {
    int head_dim;  // channels of Q, K and V, compiled in; narrower tensors are padded
    int threads;   // of a block
    int rows;      // of queries that a thread owns; of keys in the passes of backward that sum over queries
    int block_k;   // keys of one block; in those passes rows of queries
    int tile_d;    // channels that one step of the dot products reads, in vectors of 4
    int tile_v;    // channels of the result that are summed at once

    int block_q() const { return threads * rows; }
};

}  // namespace flashwright
