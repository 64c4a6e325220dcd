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

OnlineSoftmax::OnlineSoftmax(const Var &row_var, const Expr &channels, const Partial &start,
                             const OuterVars &outer_vars, int accumulator_slot)
    : row(row_var), outer(outer_vars), head_dim_v(channels), first_channel(accumulator_slot) {
    Expr zero = make_const(start.max.type(), 0);
    Expr from = clamp(slot - first_channel, 0, head_dim_v - 1);
    at(row, slot) = select(likely(slot >= first_channel), start.values(from), slot == kMax, start.max, slot == kSum,
                           start.sum, zero);
}

void OnlineSoftmax::add_blocks(const std::string &name, const Expr &count,
                               const std::function<Partial(const Expr &)> &block_of,
                               const std::function<Expr(const Expr &)> &taken) {
    RDom step(0, head_dim_v + first_channel, 0, count, name);
    if (taken) {
        step.where(taken(step.y));
    }
    Expr x = step.x;
    auto at = [&](const Expr &n) { return this->at(row, n); };
    Partial block = block_of(step.y);
    Expr statistics = select(x == kOldFactor, rescale(at(kMax), Halide::max(at(kMax), block.max)), x == kMax,
                             Halide::max(at(kMax), block.max), x == kNewFactor, rescale(block.max, at(kMax)),
                             at(kSum) * at(kOldFactor) + block.sum * at(kNewFactor));
    Expr from = clamp(x - first_channel, 0, head_dim_v - 1);
    Expr accumulator = at(x) * at(kOldFactor) + block.values(from) * at(kNewFactor);
    at(x) = select(likely(x >= first_channel), accumulator, statistics);
    steps.push_back(step);
}

OnlineSoftmax::Partial OnlineSoftmax::empty(Type type) {
    Expr zero = make_const(type, 0);
    return {negative_infinity(type), zero, [=](const Expr &) { return zero; }};
}

void OnlineSoftmax::finish() {
    Expr l = sum(row), m = max(row), zero = make_const(l.type(), 0);
    Expr fully_masked = strict_float(l == zero);
    const std::vector<Expr> place = with_outer({row}, outer), element = with_outer({row, channel}, outer);
    inverse_sum(place) = select(fully_masked, zero, make_const(l.type(), 1) / l);
    normalised(element) = accumulator(row, channel) * inverse_sum(place);
    lse(place) = select(fully_masked, negative_infinity(l.type()), m + select(is_nan(l), l, log(l)));
}

}  // namespace flashwright
