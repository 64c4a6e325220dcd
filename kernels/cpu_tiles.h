// The tile parameters of the CPU schedules. Plain data: the generators, the runtime and the tuner share it.
#pragma once

namespace flashwright {

// Which of them a schedule has, and which values are legal: kernels/cpu_schedules.h.
struct CpuTiles {
    int block_q;      // query rows of one task
    int block_k;      // keys of one block of the online softmax; given to the kernel at run time
    int row_vectors;  // vectors of query rows in a register tile
    int tile_d;       // side of the blocks that Q and the output are transposed in; 1: none; in decode, the lanes
    int tile_k;       // keys in the register tile of the dot products
    int tile_v;       // value channels in the register tile of the weighted sum
    // Of backward, whose block_q queries and block_k keys are those of one call, given at run time. Its tile_k is the
    // keys in the register tile of dK and dV.
    int width = 0;   // keys, or channels, that lie across the lanes of a register tile
    int tile_q = 0;  // query rows in the register tile of scores, dP and dQ
};

}  // namespace flashwright
