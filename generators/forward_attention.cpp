#include "forward_attention.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

BlockSoftmax::BlockSoftmax(const std::string &name, const Vars &vars, const KeyBlocks &blocks, Func scores, Func seen,
                           const Access &v)
    : vars(vars),
      scores(scores),
      seen(seen),
      max("max_" + name),
      weights("weights_" + name),
      sum("sum_" + name),
      values("values_" + name),
      over_groups(0, kPartials, 0, blocks.length / kPartials, "group_" + name),
      over_rest(0, blocks.length % kPartials, "rest_" + name),
      over_values(0, blocks.length, "jv_" + name),
      length(blocks.length) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const Expr zero = make_const(scores.type(), 0), nothing = negative_infinity(scores.type());

    define_reduction(max, nothing, scores, [](Expr a, Expr b) { return Halide::max(a, b); });
    // A block in which the row sees nothing (or only -infinity) has that maximum; its weights are then e^-infinity = 0.
    Expr m = max(row, block);
    Expr shift = select(is_negative_infinity(m), zero, m);
    weights(row, j, block) = exp_nonpositive(scores(row, j, block) - shift);
    define_reduction(sum, zero, weights, [](Expr a, Expr b) { return a + b; });

    Expr value = v(blocks.begin(block) + over_values, vars.channel);
    if (seen.defined()) {
        // 0 * NaN is NaN: what a hidden key's value holds must not enter the product.
        value = select(seen(row, over_values, block), value, zero);
    }
    values(row, vars.channel, block) = zero;
    values(row, vars.channel, block) += weights(row, over_values, block) * value;
}

void BlockSoftmax::define_reduction(Func f, const Expr &start, Func source,
                                    const std::function<Expr(Expr, Expr)> &combine) {
    const Var row = vars.row, block = vars.block;
    f(row, block) = start;
    f(row, block) = combine(f(row, block), source(row, over_groups.y * kPartials + over_groups.x, block));
    f(row, block) = combine(f(row, block), source(row, length / kPartials * kPartials + over_rest, block));
}

OnlineSoftmax::Part BlockSoftmax::part(const Expr &block) const {
    const Var row = vars.row;
    const Func values = this->values;
    return {max(row, block), sum(row, block), [=](const Expr &channel) { return values(row, channel, block); }};
}

ForwardAttention::ForwardAttention(Func queries, const Access &k, const Access &v, Expr head_dim, Expr head_dim_v)
    : queries(queries),
      state(vars.row, head_dim_v, OnlineSoftmax::empty(queries.type())),
      k(k),
      v(v),
      head_dim(head_dim) {}

void ForwardAttention::add_blocks(const std::string &name, const KeyBlocks &blocks, const ScoreTerms &terms,
                                  HiddenValues hidden_values) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const Type type = queries.type();
    const ScoreIndex at{row, blocks.begin(block) + j};

    RDom d(0, head_dim, "d_" + name);
    Func dots("dots_" + name), scores("scores_" + name), seen;
    dots(row, j, block) = make_const(type, 0);
    dots(row, j, block) += queries(row, d) * k(at.key, d);

    Expr score = apply_terms(terms, dots(row, j, block), at);
    Expr is_seen = seen_by_terms(terms, at);
    if (!Internal::is_const_one(is_seen)) {
        seen = Func("seen_" + name);
        seen(row, j, block) = is_seen;
        score = select(seen(row, j, block), score, negative_infinity(type));
    }
    scores(row, j, block) = score;

    const Func hide = hidden_values == HiddenValues::anything ? seen : Func();
    ScoredBlocks path{terms, dots, seen, d, BlockSoftmax(name, vars, blocks, scores, hide, v)};
    const BlockSoftmax &softmax = path.softmax;
    state.add_blocks("step_" + name, blocks.count, [&](const Expr &b) { return softmax.part(b); });
    paths.push_back(path);
}

}  // namespace flashwright
