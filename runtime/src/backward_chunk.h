// The gradients of one chunk of keys, for all heads of a chain.
#pragma once

#include <array>
#include <cstdint>

#include "backward_block.h"
#include "backward_plan.h"
#include "backward_state.h"
#include "kernel_abi.h"
#include "kernels/dtype_dispatch.h"
#include "scratch.h"
#include "term_call.h"
#include "tile_buffer.h"

namespace flashwright {

// T: elements of the tensors. Sum: what their products are added up in.
template <typename T>
class BackwardChunk {
 public:
    using Sum = typename AccumulationOf<T>::type;

    BackwardChunk(const BackwardProblem &problem, const Kernel &kernel, const BackwardSizes &sizes,
                  const BackwardState &state, std::int64_t chain, std::int64_t chunk, Scratch &scratch);
    void run();

 private:
    // The current key head. Its keys of this chunk are packed when the first tile needs them.
    struct KeyHead {
        std::int64_t batch, head;
        KeyVisibility keys;
        std::int64_t key_end;  // end of the keys that exist
        bool packed, finite;
    };

    void run_head(KeyHead &head, std::int64_t first_position);
    void run_block(KeyHead &head, std::int64_t query_head, std::int64_t block);
    void run_tile(KeyHead &head, std::int64_t query_head, const BackwardTile &tile);
    void prepare_block(std::int64_t batch, std::int64_t head, std::int64_t block);
    void pack(KeyHead &head);
    void store_keys(const KeyHead &head);
    void zero_dbias();
    void add_dbias(std::int64_t batch, std::int64_t head, const BackwardTile &tile);

    // Whether the kernel can use the rows of a tile in place.
    bool usable_in_place(const StridedTensor &view, std::int64_t padded_channels, const BackwardTile &tile) const;
    void set_queries(TileBuffer *buffer, const StridedTensor &view, std::int64_t batch, std::int64_t head,
                     const BackwardTile &tile, std::int64_t padded_channels, T *copy) const;
    void set_term_matrix(TileBuffer *buffer, std::size_t n, std::int64_t batch, std::int64_t head,
                         const BackwardTile &tile) const;
    template <typename E>
    void set_pairs(TileBuffer *buffer, const StridedTensor &view, std::int64_t batch, std::int64_t head,
                   const BackwardTile &tile, E neutral, E *copy) const;

    const BackwardProblem &problem_;
    const ForwardProblem &forward_;
    const Kernel &kernel_;
    const BackwardSizes &sizes_;
    const BackwardState &state_;
    const std::int64_t chain_, chunk_, key_begin_, key_capacity_end_;
    Scratch &scratch_;
    T *k_, *kt_, *vt_;                                        // of the chunk
    Sum *dk_, *dv_;                                           // of the chunk
    T *q_, *dout_;                                            // of a tile
    Sum *dq_, *dbias_;                                        // of a tile
    std::array<char *, kTermMatrices.size()> term_matrices_;  // copies, of a tile
};

extern template class BackwardChunk<float>;
extern template class BackwardChunk<double>;

}  // namespace flashwright
