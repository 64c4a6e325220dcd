// The tile parameters of the GPU schedules. Plain data: the generators and the runtime share it.
#pragma once

namespace flashwright {

// Where forward's result has a channel: threads that share a row, 2^part_bits of them, take turns by vectors of 4, and
// each has so many columns.
template <typename Index>
Index result_column(const Index &channel, const Index &part_bits, const Index &part_columns) {
    const Index vector = channel / 4, part = vector & ((Index(1) << part_bits) - 1);
    return part * part_columns + (vector >> part_bits) * 4 + channel % 4;
}

struct GpuTiles {
    int head_dim;   // channels of Q, K and V, compiled in; narrower tensors are padded
    int threads;    // of a block
    int rows;       // of queries that a thread owns; of keys in the passes of backward that sum over queries
    int block_k;    // keys of one block; in those passes rows of queries
    int tile_d;     // channels that one step of the dot products reads, in vectors of 4
    int tile_v;     // channels of the result that are summed at once
    int parts = 1;  // threads that share the channels of their rows; neighbours in a warp, so a power of 2 up to 32

    int block_q() const { return threads / parts * rows; }
    int own_channels() const { return head_dim / parts; }

    // Which channel is the `own`th of a thread's. Threads take turns by vectors of 4, so that what they read together
    // is one line.
    template <typename Index>
    Index channel(const Index &part, const Index &own) const {
        return parts == 1 ? own : (own / 4 * parts + part) * 4 + own % 4;
    }

    // A row of forward's result: of each part its own channels, and then 16 bytes of softmax_lse in f32, four times.
    int part_columns(int element_bytes) const { return own_channels() + 16 / element_bytes; }
    int result_columns(int element_bytes) const { return parts * part_columns(element_bytes); }
    int part_bits() const {
        int bits = 0;
        while (1 << bits < parts) ++bits;
        return bits;
    }
};

}  // namespace flashwright
