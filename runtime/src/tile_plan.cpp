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

KeyRun blocks(std::int64_t begin, std::int64_t length, std::int64_t count) {
    if (length <= 0 || count <= 0) return {};
    return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(length), static_cast<std::int32_t>(count)};
}

KeyRun one_block(Range range) { return blocks(range.begin, range.length(), 1); }

// Takes hidden keys behind the range, then before it, until it has `length`.
Range grow(Range range, std::int64_t length, std::int64_t seqlen_k) {
    range.end = std::max(range.end, std::min(seqlen_k, range.begin + length));
    range.begin = std::min(range.begin, std::max<std::int64_t>(0, range.end - length));
    return range;
}

// A range in which every key is tested: whole blocks to the left, what is left over to the right.
void cut_masked(Range range, const BlockShape &shape, TilePlan *plan) {
    std::int64_t whole = range.length() / shape.block_k;
    const std::int64_t rest = range.length() % shape.block_k;
    if (whole > 0 && rest > 0 && rest < shape.tile_k) whole--;
    plan->left = blocks(range.begin, shape.block_k, whole);
    plan->right = one_block({range.begin + whole * shape.block_k, range.end});
}

// The interior in equal blocks; returns where they end. What is left over goes to the right, where `right` keys are.
std::int64_t cut_interior(Range range, std::int64_t right, const BlockShape &shape, TilePlan *plan) {
    const std::int64_t keys = range.length();
    const auto leaves_too_few = [&](std::int64_t rest) { return rest > 0 && rest + right < shape.tile_k; };
    std::int64_t count = (keys + shape.block_k - 1) / shape.block_k;
    std::int64_t length = keys / count / shape.tile_k * shape.tile_k;
    if (count == 1 && right == 0) length = keys;
    if (leaves_too_few(keys - count * length)) {
        length = keys / count;
        const std::int64_t rest = keys - count * length;
        if (leaves_too_few(rest)) length -= (shape.tile_k - rest + count - 1) / count;
    }
    if (length < shape.tile_k || keys - count * length > shape.block_k) {
        length = shape.block_k;
        count = keys / length;
        if (leaves_too_few(keys - count * length)) count--;
    }
    plan->interior = blocks(range.begin, length, count);
    return range.begin + length * count;
}

// Of the keys that any row sees (`seen`), those that all rows see (`common`, inside it) become the interior.
void cut(Range seen, Range common, std::int64_t seqlen_k, const BlockShape &shape, TilePlan *plan) {
    Range interior = common;
    if (!common.empty()) {
        if (seen.begin < interior.begin) interior.begin = std::max(interior.begin, seen.begin + shape.tile_k);
        if (interior.end < seen.end) interior.end = std::min(interior.end, seen.end - shape.tile_k);
    }
    if (interior.length() < shape.tile_k) {
        cut_masked(grow(seen, shape.tile_k, seqlen_k), shape, plan);
        return;
    }
    plan->left = one_block({seen.begin, interior.begin});
    const std::int64_t end = cut_interior(interior, seen.end - interior.end, shape, plan);
    plan->right = one_block({end, seen.end});
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

std::int32_t cut_offset(std::int64_t value) {
    return static_cast<std::int32_t>(std::clamp(value, -kFarOffset, kFarOffset));
}

std::int64_t longest_block(const BlockShape &shape, std::int64_t rows) {
    // The block to the right takes what the last row sees more than the first, and what the interior leaves over.
    return shape.block_k + rows + 3 * shape.tile_k;
}

TilePlan plan_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, const BlockShape &shape) {
    // Diagonal and window are joined first: where that saturates, every row of any length sees all or nothing anyway.
    const std::int64_t low = keys.window_left < 0 ? std::numeric_limits<std::int64_t>::min()
                                                  : saturating_subtract(keys.diagonal, keys.window_left);
    const std::int64_t high = keys.window_right < 0 ? std::numeric_limits<std::int64_t>::max()
                                                    : saturating_add(keys.diagonal, keys.window_right);
    const auto first_key = [&](std::int64_t row) { return std::max<std::int64_t>(0, saturating_add(low, row)); };
    const auto last_key = [&](std::int64_t row) { return std::min(keys.key_count - 1, saturating_add(high, row)); };

    TilePlan plan;
    plan.lo_offset = cut_offset(saturating_add(low, row_begin));
    plan.hi_offset = cut_offset(saturating_add(high, row_begin));
    plan.diagonal_offset = cut_offset(saturating_add(keys.diagonal, row_begin));

    // Rows before `first` look before key 0, rows after `last` look past the last key.
    const std::int64_t row_last = row_begin + rows - 1;
    const std::int64_t first = std::max(row_begin, saturating_subtract(0, high));
    const std::int64_t last = std::min(row_last, saturating_subtract(keys.key_count - 1, low));
    if (first > last || keys.key_count == 0) return plan;

    // Both ends move forward with the row, and neighbouring rows' ranges touch: what is seen is one range.
    const Range seen{first_key(first), last_key(last) + 1};
    const Range common = keys.everything_masked ? Range{0, 0} : Range{first_key(row_last), last_key(row_begin) + 1};
    cut(seen, common, keys.seqlen_k, shape, &plan);
    return plan;
}

}  // namespace flashwright
