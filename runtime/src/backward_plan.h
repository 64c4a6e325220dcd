// How the gradient is cut into tasks and tiles.
#pragma once

#include <cstdint>

#include "tile_plan.h"

namespace flashwright {

// The gradient of one chunk of keys is one task, which goes over all queries of its heads in order; or one task takes
// the chunks of its heads one after the other. Either way a row's dQ is the sum over chunks in order.
struct GradientTask {
    std::int64_t strand;  // key heads whose tasks depend on each other: one of one batch entry, or all
    std::int64_t chunk_begin, chunk_end;
};

class GradientGrid {
 public:
    GradientGrid(std::int64_t strands, std::int64_t chunks, std::int64_t threads);
    std::int64_t count() const { return whole_ ? strands_ : strands_ * chunks_; }
    GradientTask task(std::int64_t index) const;

 private:
    std::int64_t strands_, chunks_;
    bool whole_;  // a task takes all chunks: there are strands enough for the threads
};

// The queries and keys of one kernel call.
struct GradientTileRange {
    std::int64_t row_begin, row_end, key_begin, key_end;
    bool cut;     // some row does not see some key by its position
    bool masked;  // some pair may be hidden
    // Of the range's first row and key, as in TilePlan.
    std::int32_t lo_offset, hi_offset, diagonal_offset;

    bool empty() const { return row_begin >= row_end || key_begin >= key_end; }
};

// What is seen of the given rows and keys, where rows begin at a multiple of `row_step` from row_begin, keys likewise.
GradientTileRange plan_gradient_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t row_end,
                                     std::int64_t row_step, std::int64_t key_begin, std::int64_t key_end,
                                     std::int64_t key_step);

}  // namespace flashwright
