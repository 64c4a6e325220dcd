// Copies between the two layouts of a tile: rows in memory (channels contiguous) and rows across the lanes (rows
// contiguous).
#pragma once

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

namespace flashwright {

// `target` becomes a transposed copy of `source`, in square blocks of `side` x `side` that are transposed in registers:
// in each of log2(side) rounds, vectors p and p + side/2 are interleaved into vectors 2p and 2p + 1. In terms of the
// element index p * side + e a round rotates the bits of the index by one. The last block of channels starts earlier,
// so there must be at least `side` channels.
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
