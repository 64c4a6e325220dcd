#include "tile_plan.h"

#include <algorithm>
#include <limits>

namespace flashwright {
namespace {

struct Range {
    std::int64_t begin, end;
    std::int64_t length() const { return end - begin; }
    bool empty() const { return begin >= end; }
};

KeySegment segment(Range range) {
    if (range.empty()) return {};
    return {static_cast<std::int32_t>(range.begin), static_cast<std::int32_t>(range.end)};
}

std::int32_t offset(std::int64_t value) {
    return static_cast<std::int32_t>(std::clamp(value, -kFarOffset, kFarOffset));
}

// Takes hidden keys behind the range, then before it, until it has `length`.
Range grow(Range range, std::int64_t length, std::int64_t seqlen_k) {
    range.end = std::max(range.end, std::min(seqlen_k, range.begin + length));
    range.begin = std::min(range.begin, std::max<std::int64_t>(0, range.end - length));
    return range;
}

// Of the keys that any row sees (`seen`), those that all rows see (`common`, inside it) become the interior.
void cut(Range seen, Range common, std::int64_t seqlen_k, std::int64_t tile_k, TilePlan *plan) {
    Range interior = common;
    if (!common.empty()) {
        if (seen.begin < interior.begin) interior.begin = std::max(interior.begin, seen.begin + tile_k);
        if (interior.end < seen.end) {
            interior.end = std::min(interior.end, seen.end - tile_k);
            if (interior.length() > 0) interior.end -= interior.length() % tile_k;
        }
    }
    if (interior.length() < tile_k) {
        plan->right = segment(grow(seen, tile_k, seqlen_k));
        return;
    }
    plan->left = segment({seen.begin, interior.begin});
    plan->interior = segment(interior);
    plan->right = segment({interior.end, seen.end});
}

}  // namespace

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
    std::int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

TilePlan plan_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, std::int64_t tile_k) {
    // Diagonal and window are joined first: where that saturates, every row of any length sees all or nothing anyway.
    const std::int64_t low = keys.window_left < 0 ? std::numeric_limits<std::int64_t>::min()
                                                  : saturating_subtract(keys.diagonal, keys.window_left);
    const std::int64_t high = keys.window_right < 0 ? std::numeric_limits<std::int64_t>::max()
                                                    : saturating_add(keys.diagonal, keys.window_right);
    const auto first_key = [&](std::int64_t row) { return std::max<std::int64_t>(0, saturating_add(low, row)); };
    const auto last_key = [&](std::int64_t row) { return std::min(keys.key_count - 1, saturating_add(high, row)); };

    TilePlan plan;
    plan.lo_offset = offset(saturating_add(low, row_begin));
    plan.hi_offset = offset(saturating_add(high, row_begin));
    plan.diagonal_offset = offset(saturating_add(keys.diagonal, row_begin));

    // Rows before `first` look before key 0, rows after `last` look past the last key.
    const std::int64_t row_last = row_begin + rows - 1;
    const std::int64_t first = std::max(row_begin, saturating_subtract(0, high));
    const std::int64_t last = std::min(row_last, saturating_subtract(keys.key_count - 1, low));
    if (first > last || keys.key_count == 0) return plan;

    // Both ends move forward with the row, and neighbouring rows' ranges touch: what is seen is one range.
    const Range seen{first_key(first), last_key(last) + 1};
    const Range common = keys.everything_masked ? Range{0, 0} : Range{first_key(row_last), last_key(row_begin) + 1};
    cut(seen, common, keys.seqlen_k, tile_k, &plan);
    return plan;
}

}  // namespace flashwright
