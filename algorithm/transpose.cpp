#include "transpose.h"

namespace flashwright {

using namespace Halide;

namespace {

TransposedCopy empty_copy(Func target, const Expr &channels, int side) {
    TransposedCopy copy;
    copy.target = target;
    copy.side = side;
    copy.over = RDom(0, side, 0, (channels + side - 1) / side, target.name() + "_block");
    return copy;
}

Expr first_channel(const TransposedCopy &copy, const Expr &block, const Expr &channels) {
    return min(block * copy.side, channels - copy.side);
}

// From element (p, e) of a block of the source to the rounds that transpose it.
void add_rounds(TransposedCopy &copy, const std::function<Expr(const Expr &p, const Expr &e)> &element) {
    const int side = copy.side;
    const Var index = copy.index, row_block = copy.row_block, channel_block = copy.channel_block;
    Func previous(copy.target.name() + "_source");
    previous(index, row_block, channel_block) = element(index / side, index % side);
    copy.rounds.push_back(previous);
    for (int done = 1; done < side; done *= 2) {
        Func next(copy.target.name() + "_round");
        next(index, row_block, channel_block) = select(index % 2 == 0, previous(index / 2, row_block, channel_block),
                                                       previous(index / 2 + side * side / 2, row_block, channel_block));
        copy.rounds.push_back(next);
        previous = next;
    }
}

}  // namespace

TransposedCopy TransposedCopy::rows_to_lanes(Func target, const Source &source, const Expr &channels, int side) {
    TransposedCopy copy = empty_copy(target, channels, side);
    add_rounds(copy, [&](const Expr &p, const Expr &e) {
        return source(copy.row_block * side + p, first_channel(copy, copy.channel_block, channels) + e);
    });
    const Var row = copy.row;
    Func block = copy.rounds.back();
    target(row, copy.channel) = undef(block.type());
    target(row, first_channel(copy, copy.over.y, channels) + copy.over.x) =
        block(copy.over.x * side + row % side, row / side, copy.over.y);
    return copy;
}

TransposedCopy TransposedCopy::lanes_to_rows(Func target, const Source &source, const Expr &channels, int side) {
    TransposedCopy copy = empty_copy(target, channels, side);
    add_rounds(copy, [&](const Expr &p, const Expr &e) {
        return source(copy.row_block * side + e, first_channel(copy, copy.channel_block, channels) + p);
    });
    const Var row = copy.row;
    Func block = copy.rounds.back();
    target(copy.channel, row) = undef(block.type());
    target(first_channel(copy, copy.over.y, channels) + copy.over.x, row) =
        block(row % side * side + copy.over.x, row / side, copy.over.y);
    return copy;
}

}  // namespace flashwright
