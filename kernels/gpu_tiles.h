// The tile parameters of the GPU schedules. Plain data: the generators and the runtime share it.
#pragma once

namespace flashwright {

// Where a row of forward's result has its channels. The threads that share the row have `columns_per_thread` columns
// each, one thread after the other. The channels are dealt out to them in turns of `turn` channels.
template <typename Index>
struct ResultLayout {
    Index threads_per_row, turn, columns_per_thread;
    Index column_of(const Index &channel) const {
        const Index group = channel / turn;
        return group % threads_per_row * columns_per_thread + group / threads_per_row * turn + channel % turn;
    }
};

struct GpuTiles {
    int head_dim;  // channels of Q, K and V, compiled in; narrower tensors are padded
    int threads;   // of a thread block
    int rows;      // query rows of a thread; in the passes of backward that sum over queries, keys of a thread
    int block_k;   // keys of one block; in those passes, query rows of one block
    int tile_d;    // channels that one step of the dot products reads
    int tile_v;    // channels of the result that are summed at once
    int threads_per_row = 1;  // neighbours in a warp that share the channels of their rows

    int block_q() const { return threads / threads_per_row * rows; }
    int channels_per_thread() const { return head_dim / threads_per_row; }

    // The channel that is the `n`th of thread `lane` among those that share a row. Threads take turns of tile_d
    // channels, so that what they read together is one line.
    template <typename Index>
    Index channel(const Index &lane, const Index &n) const {
        return threads_per_row == 1 ? n : (n / tile_d * threads_per_row + lane) * tile_d + n % tile_d;
    }

    // A row of forward's result: for each thread its channels, and then 16 bytes of softmax_lse in f32, four times.
    ResultLayout<int> result_layout(int element_bytes) const {
        return {threads_per_row, tile_d, channels_per_thread() + 16 / element_bytes};
    }
    int result_columns(int element_bytes) const {
        return threads_per_row * result_layout(element_bytes).columns_per_thread;
    }
};

}  // namespace flashwright
