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

// Adds masked keys after the range, then before it, until it has `length` keys.
Range grow(Range range, std::int64_t length, std::int64_t seqlen_k) {
    range.end = std::max(range.end, std::min(seqlen_k, range.begin + length));
    range.begin = std::min(range.begin, std::max<std::int64_t>(0, range.end - length));
    return range;
}

// A range in which every key is tested: whole blocks to the left, the remaining keys to the right.
void cut_masked(Range range, const BlockShape &shape, TilePlan *plan) {
    std::int64_t whole = range.length() / shape.block_k;
    const std::int64_t rest = range.length() % shape.block_k;
    if (whole > 0 && rest > 0 && rest < shape.tile_k) whole--;
    plan->left = blocks(range.begin, shape.block_k, whole);
    plan->right = one_block({range.begin + whole * shape.block_k, range.end});
}

// Cuts the range into equal full blocks and returns their end. The remaining keys join the `right` keys after it.
std::int64_t cut_full(Range range, std::int64_t right, const BlockShape &shape, TilePlan *plan) {
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
    plan->full = blocks(range.begin, length, count);
    return range.begin + length * count;
}

// Cuts `any`, the keys that are unmasked for some row. Those unmasked for every row (`common`, inside `any`) become
// full blocks, the others masked blocks.
void cut(Range any, Range common, std::int64_t seqlen_k, const BlockShape &shape, TilePlan *plan) {
    Range full = common;
    if (!common.empty()) {
        if (any.begin < full.begin) full.begin = std::max(full.begin, any.begin + shape.tile_k);
        if (full.end < any.end) full.end = std::min(full.end, any.end - shape.tile_k);
    }
    if (full.length() < shape.tile_k) {
        cut_masked(grow(any, shape.tile_k, seqlen_k), shape, plan);
        return;
    }
    plan->left = one_block({any.begin, full.begin});
    const std::int64_t end = cut_full(full, any.end - full.end, shape, plan);
    plan->right = one_block({end, any.end});
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
    // The right block has the keys of the last row after those of the first, and what remains after the full blocks.
    return shape.block_k + rows + 3 * shape.tile_k;
}

TilePlan plan_tile(const KeyVisibility &keys, std::int64_t row_begin, std::int64_t rows, const BlockShape &shape) {
    // Diagonal and window are added first. If that saturates, all keys of every row are unmasked, or all masked,
    // anyway.
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

    // The keys of rows before `first` all lie before key 0, those of rows after `last` past the last key.
    const std::int64_t row_last = row_begin + rows - 1;
    const std::int64_t first = std::max(row_begin, saturating_subtract(0, high));
    const std::int64_t last = std::min(row_last, saturating_subtract(keys.key_count - 1, low));
    if (first > last || keys.key_count == 0) return plan;

    // Both ends move forward with the row and the ranges of adjacent rows touch, so their union is one range.
    const Range any{first_key(first), last_key(last) + 1};
    const Range common = keys.everything_masked ? Range{0, 0} : Range{first_key(row_last), last_key(row_begin) + 1};
    cut(any, common, keys.seqlen_k, shape, &plan);
    return plan;
}

}  // namespace flashwright
