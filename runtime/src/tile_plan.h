// The keys that one tile of query rows attends to, cut into blocks for a kernel call.
#pragma once

#include "kernel_abi.h"

#include <cstdint>

namespace flashwright {

// The keys of row r of a head: from r + diagonal - window_left to r + diagonal + window_right, within [0, key_count).
struct KeyVisibility {
    std::int64_t diagonal = 0;
    std::int64_t window_left = -1;   // -1: no limit
    std::int64_t window_right = -1;  // -1: no limit; 0 with causal
    std::int64_t key_count = 0;      // keys of this batch entry, at most seqlen_k
    std::int64_t seqlen_k = 0;       // keys in memory
    bool everything_masked = false;  // no full blocks: every key is tested
};

struct TilePlan {
    KeyRun left, full, right;  // masked, full and masked blocks, in this order
    // Row i of the tile attends to key j iff i + lo_offset <= j <= i + hi_offset and j < key_count. Its diagonal is at
    // key i + diagonal_offset. All three are clamped to +-kFarOffset.
    std::int32_t lo_offset = 0, hi_offset = 0, diagonal_offset = 0;
};

// Lengths are at most this. So an offset of this size already unmasks or masks every key, and its sum with a row or a
// key fits 32 bits.
inline constexpr std::int64_t kFarOffset = std::int64_t{1} << 30;

// The value clamped to +-kFarOffset.
std::int32_t cut_offset(std::int64_t value);

// The lengths of a kernel's key blocks.
struct BlockShape {
    std::int64_t block_k = 1;  // preferred length, at least tile_k
    std::int64_t tile_k = 1;   // minimum length, at most seqlen_k
};

// The plan for rows [row_begin, row_begin + rows), rows >= 1:
//   - Every key that is unmasked for some row lies in exactly one block. Blocks lie in [0, seqlen_k) and do not
//   overlap.
//   - The keys of full blocks are unmasked for every row.
//   - The blocks of a run have equal lengths of at least tile_k. Runs of more than one block have at most block_k keys
//   a
//     block. Keys that remain after equal blocks go to the right.
//   - A masked run that would be too short takes keys from the full blocks. If all keys of the tile are fewer than
//     tile_k, it takes masked keys around them.
//   - If possible, the length of full blocks is a multiple of tile_k, so that only the last register tile is ragged.
//   - If all keys are masked for every row, there are no blocks.
TilePlan plan_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, const BlockShape &shape);

// The longest block of any plan for tiles of at most `rows` rows.
std::int64_t longest_block(const BlockShape &shape, std::int64_t rows);

// a + b and a - b, clamped to the 64-bit range.
std::int64_t saturating_add(std::int64_t a, std::int64_t b);
std::int64_t saturating_subtract(std::int64_t a, std::int64_t b);

}  // namespace flashwright
