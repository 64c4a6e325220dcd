#include "forward_attention.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

BlockSoftmax::BlockSoftmax(const std::string &name, const Vars &block_vars, const KeyBlocks &blocks, Func block_scores,
                           Func unmasked_keys, const Access &v, int reductions)
    : vars(block_vars),
      scores(block_scores),
      unmasked(unmasked_keys),
      max("max_" + name),
      weights("weights_" + name),
      sum("sum_" + name),
      values("values_" + name),
      partial_reductions(reductions),
      over_groups(0, partial_reductions, 0, blocks.length / partial_reductions, "group_" + name),
      over_rest(0, blocks.length % partial_reductions, "rest_" + name),
      over_values(0, blocks.length, "jv_" + name),
      length(blocks.length) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const Expr zero = make_const(scores.type(), 0), nothing = negative_infinity(scores.type());
    const std::vector<Expr> score = with_outer({row, j, block}, vars.outer),
                            summand = with_outer({row, over_values, block}, vars.outer),
                            output = with_outer({row, vars.channel, block}, vars.outer);

    define_reduction(max, nothing, scores, [](Expr a, Expr b) { return Halide::max(a, b); });
    // If all keys of the block are masked (or all scores -infinity), the maximum is -infinity; the weights are then
    // e^-infinity = 0.
    Expr m = max(with_outer({row, block}, vars.outer));
    Expr shift = select(is_negative_infinity(m), zero, m);
    weights(score) = exp_nonpositive(scores(score) - shift);
    define_reduction(sum, zero, weights, [](Expr a, Expr b) { return a + b; });

    Expr value = v(blocks.begin(block) + over_values, vars.channel);
    if (unmasked.defined()) {
        // 0 * NaN is NaN: V of a masked key must not enter the product.
        value = select(unmasked(summand), value, zero);
    }
    values(output) = zero;
    values(output) += weights(summand) * value;
}

void BlockSoftmax::define_reduction(Func f, const Expr &start, Func source,
                                    const std::function<Expr(Expr, Expr)> &combine) {
    const Var row = vars.row, block = vars.block;
    const std::vector<Expr> place = with_outer({row, block}, vars.outer);
    const auto element = [&](const Expr &j) { return source(with_outer({row, j, block}, vars.outer)); };
    f(place) = start;
    f(place) = combine(f(place), element(over_groups.y * partial_reductions + over_groups.x));
    f(place) = combine(f(place), element(length / partial_reductions * partial_reductions + over_rest));
}

OnlineSoftmax::Partial BlockSoftmax::partial(const Expr &block) const {
    const Var row = vars.row;
    const OuterVars outer = vars.outer;
    const Func weighted = values;
    const std::vector<Expr> place = with_outer({row, block}, outer);
    return {max(place), sum(place), [=](const Expr &channel) {
                return weighted(with_outer({row, channel, block}, outer));
            }};
}

ForwardAttention::ForwardAttention(Func scaled_queries, const Access &keys, const Access &values, Expr channels,
                                   Expr value_channels, const OuterVars &outer, int first_channel)
    : queries(scaled_queries),
      state(vars.row, value_channels, OnlineSoftmax::empty(scaled_queries.type()), outer, first_channel),
      head_dim_v(value_channels),
      k(keys),
      v(values),
      head_dim(channels) {
    vars.outer = outer;
}

void ForwardAttention::add_blocks(const std::string &name, const KeyBlocks &blocks, const ScoreTerms &terms,
                                  bool assume_finite) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const Type type = queries.type();
    const ScoreIndex at{row, blocks.begin(block) + j, vars.outer};
    const std::vector<Expr> place = with_outer({row, j, block}, vars.outer);

    RDom d(0, head_dim, "d_" + name);
    Func dots("dots_" + name), scores("scores_" + name), unmasked;
    dots(place) = make_const(type, 0);
    dots(place) += queries(with_outer({row, d}, vars.outer)) * k(at.key, d);

    Expr score = apply_terms(terms, dots(place), at);
    Expr is_unmasked_key = is_unmasked(terms, at);
    if (!Internal::is_const_one(is_unmasked_key)) {
        unmasked = Func("unmasked_" + name);
        unmasked(place) = is_unmasked_key;
        score = select(unmasked(place), score, negative_infinity(type));
    }
    scores(place) = score;

    const Func kept_out = assume_finite ? Func() : unmasked;
    ScoredBlocks code_path{terms, dots, unmasked, d,
                           BlockSoftmax(name, vars, blocks, scores, kept_out, v, partial_reductions)};
    const BlockSoftmax &softmax = code_path.softmax;
    state.add_blocks(
        "step_" + name, blocks.count, [&](const Expr &b) { return softmax.partial(b); }, blocks.taken);
    code_paths.push_back(code_path);
}

}  // namespace flashwright
