#include "online_softmax.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

namespace {

// What numbers relative to maximum `from` are multiplied by to be relative to maximum `to`.
Expr rescale(const Expr &from, const Expr &to) {
    return select(is_negative_infinity(from), make_const(from.type(), 0), exp_nonpositive(from - to));
}

}  // namespace

OnlineSoftmax::OnlineSoftmax(const Var &row, const Expr &head_dim_v, const Part &start)
    : row(row), head_dim_v(head_dim_v) {
    Expr zero = make_const(start.max.type(), 0);
    Expr channel = clamp(slot - kAccumulator, 0, head_dim_v - 1);
    state(row, slot) = select(likely(slot >= kAccumulator), start.values(channel), slot == kMax, start.max,
                              slot == kSum, start.sum, zero);
}

void OnlineSoftmax::add_blocks(const std::string &name, const Expr &count,
                               const std::function<Part(const Expr &)> &block_of) {
    RDom step(0, head_dim_v + kAccumulator, 0, count, name);
    Expr x = step.x;
    auto at = [&](const Expr &slot) { return state(row, slot); };
    Part block = block_of(step.y);
    Expr statistics = select(x == kOldFactor, rescale(at(kMax), Halide::max(at(kMax), block.max)), x == kMax,
                             Halide::max(at(kMax), block.max), x == kNewFactor, rescale(block.max, at(kMax)),
                             at(kSum) * at(kOldFactor) + block.sum * at(kNewFactor));
    Expr channel = clamp(x - kAccumulator, 0, head_dim_v - 1);
    Expr accumulator = at(x) * at(kOldFactor) + block.values(channel) * at(kNewFactor);
    state(row, x) = select(likely(x >= kAccumulator), accumulator, statistics);
    steps.push_back(step);
}

OnlineSoftmax::Part OnlineSoftmax::empty(Type type) {
    Expr zero = make_const(type, 0);
    return {negative_infinity(type), zero, [=](const Expr &) { return zero; }};
}

void OnlineSoftmax::finish() {
    Expr l = sum(row), m = max(row), zero = make_const(l.type(), 0);
    Expr nothing_seen = strict_float(l == zero);
    inverse_sum(row) = select(nothing_seen, zero, make_const(l.type(), 1) / l);
    normalised(row, channel) = accumulator(row, channel) * inverse_sum(row);
    lse(row) = select(nothing_seen, negative_infinity(l.type()), m + select(is_nan(l), l, log(l)));
}

}  // namespace flashwright
