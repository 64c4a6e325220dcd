#include "backward_plan.h"

#include <algorithm>
#include <limits>

namespace flashwright {

// With this many chains per thread, the last round of whole chains wastes little time.
constexpr std::int64_t kChainsPerThread = 4;

BackwardGrid::BackwardGrid(std::int64_t chains, std::int64_t chunks, std::int64_t threads)
    : chains_(chains),
      chunks_(chunks),
      whole_(threads == 1 || chains >= kChainsPerThread * threads || (chains >= threads && chains % threads == 0)) {}

BackwardTask BackwardGrid::task(std::int64_t index) const {
    if (whole_) return {index, 0, chunks_};
    return {index / chunks_, index % chunks_, index % chunks_ + 1};
}

BackwardTile plan_backward_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t row_end,
                                std::int64_t row_step, std::int64_t key_begin, std::int64_t key_end,
                                std::int64_t key_step) {
    // The unmasked keys of row r are those from r + low to r + high.
    const std::int64_t low = keys.window_left < 0 ? std::numeric_limits<std::int64_t>::min()
                                                  : saturating_subtract(keys.diagonal, keys.window_left);
    const std::int64_t high = keys.window_right < 0 ? std::numeric_limits<std::int64_t>::max()
                                                    : saturating_add(keys.diagonal, keys.window_right);
    BackwardTile tile{row_begin, row_end, key_begin, std::min(key_end, keys.key_count), true, true, 0, 0, 0};
    tile.row_begin = std::max(row_begin, saturating_subtract(tile.key_begin, high));
    tile.row_end = std::min(row_end, saturating_add(saturating_subtract(tile.key_end - 1, low), 1));
    if (tile.empty()) return tile;
    tile.row_begin -= (tile.row_begin - row_begin) % row_step;
    tile.key_begin = std::max(key_begin, saturating_add(tile.row_begin, low));
    tile.key_begin -= (tile.key_begin - key_begin) % key_step;
    tile.key_end = std::min(tile.key_end, saturating_add(saturating_add(tile.row_end - 1, high), 1));
    if (tile.empty()) return tile;

    // A kernel computes whole steps, so the tile includes their other rows and keys, as far as they exist.
    const auto whole = [](std::int64_t begin, std::int64_t end, std::int64_t step) {
        return begin + (end - begin + step - 1) / step * step;
    };
    tile.row_end = std::min(row_end, whole(tile.row_begin, tile.row_end, row_step));
    tile.key_end = std::min({key_end, keys.key_count, whole(tile.key_begin, tile.key_end, key_step)});

    tile.cut = saturating_add(tile.row_end - 1, low) > tile.key_begin ||
               saturating_add(tile.row_begin, high) < tile.key_end - 1;
    tile.masked = tile.cut || keys.everything_masked;
    const std::int64_t shift = tile.row_begin - tile.key_begin;
    tile.lo_offset = cut_offset(saturating_add(low, shift));
    tile.hi_offset = cut_offset(saturating_add(high, shift));
    // Not clamped to kFarOffset: ALiBi allows diagonals up to that and needs the exact difference.
    using Offset = std::numeric_limits<std::int32_t>;
    tile.diagonal_offset = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(saturating_add(keys.diagonal, shift), Offset::min(), Offset::max()));
    return tile;
}

}  // namespace flashwright
