// The tile parameters of the GPU schedules. Plain data: the generators and the runtime share it.
#pragma once

namespace flashwright {

// Where forward's result has its channels: parts of so many columns each, which take turns by so many channels.
template <typename Index>
struct ResultParts {
    Index parts, turn, columns;
    Index column_of(const Index &channel) const {
        const Index group = channel / turn;
        return group % parts * columns + group / parts * turn + channel % turn;
    }
};

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

    // Which channel is the `own`th of a thread's. Threads take turns by what a step reads, so that what they read
    // together is one line.
    template <typename Index>
    Index channel(const Index &part, const Index &own) const {
        return parts == 1 ? own : (own / tile_d * parts + part) * tile_d + own % tile_d;
    }

    // A row of forward's result: of each part its own channels, and then 16 bytes of softmax_lse in f32, four times.
    ResultParts<int> result_parts(int element_bytes) const {
        return {parts, tile_d, own_channels() + 16 / element_bytes};
    }
    int result_columns(int element_bytes) const { return parts * result_parts(element_bytes).columns; }
};

}  // namespace flashwright
