// Which keys one tile of query rows meets, cut into the blocks that kernels take.
#pragma once

#include "kernel_abi.h"

#include <cstdint>

namespace flashwright {

// Where row r of a head looks: keys from r + diagonal - window_left to r + diagonal + window_right, within [0,
// key_count).
struct KeyVisibility {
    std::int64_t diagonal = 0;
    std::int64_t window_left = -1;   // -1: without end
    std::int64_t window_right = -1;  // -1: without end; causal is 0
    std::int64_t key_count = 0;      // keys that exist, at most seqlen_k
    std::int64_t seqlen_k = 0;       // keys in memory
    bool everything_masked = false;  // each key is tested
};

struct TilePlan {
    KeyRun left, interior, right;
    // Of the tile's first row: it sees key j iff lo_offset <= j <= hi_offset (and j < key_count); row i of the tile
    // likewise with i added. diagonal_offset is the key it meets. All are cut at +-kFarOffset.
    std::int32_t lo_offset = 0, hi_offset = 0, diagonal_offset = 0;
};

// Lengths are at most this, so an offset of this size already shows or hides every key, and its sum with a row or a key
// fits 32 bits.
inline constexpr std::int64_t kFarOffset = std::int64_t{1} << 30;

// The value cut at +-kFarOffset.
std::int32_t cut_offset(std::int64_t value);

// What a kernel asks of its blocks of keys.
struct BlockShape {
    std::int64_t block_k = 1;  // a block's usual length, at least tile_k
    std::int64_t tile_k = 1;   // a block's least length, at most seqlen_k
};

// The plan for rows [row_begin, row_begin + rows), rows >= 1:
//   - every key that some row sees lies in exactly one block; blocks lie in [0, seqlen_k) and do not overlap;
//   - every row sees every key of the interior;
//   - a run's blocks are equally long, at least tile_k and, but for a single one, at most block_k keys; what does not
//     divide goes to the right; a masked run that is too short takes keys from the interior, and hidden keys around it
//     where all that the tile sees is shorter than a tile;
//   - where it can be, a block of the interior is a multiple of tile_k, so that no ragged tile stands in the middle;
//   - if no row sees a key, there are no blocks.
TilePlan plan_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, const BlockShape &shape);

// The longest block of any plan for tiles of at most `rows` rows.
std::int64_t longest_block(const BlockShape &shape, std::int64_t rows);

// a + b and a - b, cut at the ends of the 64-bit range.
std::int64_t saturating_add(std::int64_t a, std::int64_t b);
std::int64_t saturating_subtract(std::int64_t a, std::int64_t b);

}  // namespace flashwright
