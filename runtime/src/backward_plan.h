// How a backward call is cut into tasks and tiles.
#pragma once

#include <cstdint>

#include "tile_plan.h"

namespace flashwright {

// A task processes either one chunk of keys, or all chunks of its heads one after the other. For each chunk it goes
// over all queries of the heads in order. Either way a row's dQ is the sum over the chunks in order.
//
// A chain is a set of key heads whose dQ updates depend on each other: one key head of one batch entry, or all of them.
struct BackwardTask {
    std::int64_t chain;
    std::int64_t chunk_begin, chunk_end;
};

class BackwardGrid {
 public:
    BackwardGrid(std::int64_t chains, std::int64_t chunks, std::int64_t threads);
    std::int64_t count() const { return whole_ ? chains_ : chains_ * chunks_; }
    BackwardTask task(std::int64_t index) const;

 private:
    std::int64_t chains_, chunks_;
    bool whole_;  // a task processes all chunks of a chain: there are enough chains for the threads
};

// The queries and keys of one kernel call.
struct BackwardTile {
    std::int64_t row_begin, row_end, key_begin, key_end;
    bool cut;     // some pair is masked by its position
    bool masked;  // some pair may be masked
    // Relative to the first row and key of the tile, as in TilePlan.
    std::int32_t lo_offset, hi_offset, diagonal_offset;

    bool empty() const { return row_begin >= row_end || key_begin >= key_end; }
};

// The part of the given rows and keys that has unmasked pairs. It begins at multiples of `row_step` from row_begin and
// of `key_step` from key_begin.
BackwardTile plan_backward_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t row_end,
                                std::int64_t row_step, std::int64_t key_begin, std::int64_t key_end,
                                std::int64_t key_step);

}  // namespace flashwright
