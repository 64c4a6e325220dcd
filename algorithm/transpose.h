// Copies between the two layouts of a tile: channels contiguous, as in the caller's memory, and rows contiguous, so
// that rows lie across the lanes of a vector.
#pragma once

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

namespace flashwright {

// `target` is a transposed copy of `source`, in blocks of `side` x `side` elements that are transposed in registers.
// Each of log2(side) rounds interleaves vectors p and p + side/2 into vectors 2p and 2p + 1, which rotates the bits of
// the element index p * side + e by one; after all rounds p and e have changed places (the perfect shuffle of Stone
// 1971). The last block of channels starts earlier, so there must be at least `side` channels.
struct TransposedCopy {
    using Source = std::function<Halide::Expr(const Halide::Expr &row, const Halide::Expr &channel)>;

    // target(row, channel), vectors run along rows; the source's run along channels.
    static TransposedCopy rows_to_lanes(Halide::Func target, const Source &source, const Halide::Expr &channels,
                                        int side);
    // target(channel, row), vectors run along channels; the source's run along rows.
    static TransposedCopy lanes_to_rows(Halide::Func target, const Source &source, const Halide::Expr &channels,
                                        int side);

    Halide::Func target;
    int side;
    Halide::Var row{"row"}, channel{"channel"}, index{"index"}, row_block{"row_block"}, channel_block{"channel_block"};
    Halide::RDom over;                 // (channel within the block, channel block) of the target's update
    std::vector<Halide::Func> rounds;  // (index, row_block, channel_block); the last is the result
};

}  // namespace flashwright
