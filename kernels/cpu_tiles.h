// The tile parameters of the CPU SIMD schedules. Plain data: the generators, the runtime and the tuner share it.
#pragma once

namespace flashwright {

struct CpuSimdTiles {
    int block_q;      // query rows of one task; a multiple of lanes * row_vectors, or fewer than the lanes
    int block_k;      // keys of one block of the online softmax; given to the kernel at run time
    int row_vectors;  // vectors of query rows in a register tile
    int tile_d;       // side of the squares that Q and the output are transposed in; 1: none; with few rows, the lanes
    int tile_k;       // keys in the register tile of the dot products
    int tile_v;       // value channels in the register tile of the weighted sum
    // Of the gradient, whose block_q queries and block_k keys are those of one call, given at run time. Its tile_k is
    // the keys in the register tile of dK and dV.
    int width = 0;   // keys, or channels, that lie across the lanes of a register tile
    int tile_q = 0;  // query rows in the register tile of scores, dP and dQ
};

// Forward: fewer rows than lanes, so that keys and channels lie across these.
inline bool is_decode(const CpuSimdTiles &tiles) { return tiles.block_q < tiles.tile_d; }

}  // namespace flashwright
