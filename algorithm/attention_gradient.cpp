#include "attention_gradient.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

GradientTile::GradientTile(const std::string &name, halide_type_t type, const GradientInputs &in,
                           const ScoreTerms &terms, bool assume_finite, const Expr &count)
    : dots("dots_" + name),
      probabilities("p_" + name),
      dprobabilities("dp_" + name),
      dscores("ds_" + name),
      dq("dq_" + name),
      dk("dk_" + name),
      dv("dv_" + name),
      over_head_dim(0, in.head_dim, "d_" + name),
      over_head_dim_v(0, in.head_dim_v, "c_" + name),
      over_keys(0, in.keys, "j_" + name),
      over_rows(0, in.rows, "i_" + name),
      instances(0, count, "instance_" + name) {
    const ScoreIndex at{row, key};
    const Expr zero = make_const(type, 0);
    const Expr is_unmasked_pair = is_unmasked(terms, at);
    const bool masks = !Internal::is_const_one(is_unmasked_pair);
    if (!assume_finite) {
        unmasked = Func("unmasked_" + name);
        unmasked(key, row, instance) = is_unmasked_pair;
    }
    const auto where_unmasked = [&](const Expr &value) {
        return !masks ? value
                      : select(unmasked.defined() ? Expr(unmasked(key, row, instance)) : is_unmasked_pair, value, zero);
    };

    dots(key, row, instance) = zero;
    dots(key, row, instance) += in.kt(key, over_head_dim) * in.q(over_head_dim, row);
    const Expr scaled = dots(key, row, instance) * in.scale;
    const Expr score = apply_terms(terms, scaled, at);
    const Expr derivative = derivative_of_terms(terms, scaled, at);
    const bool differs = !Internal::is_const_one(derivative);
    const Expr p = where_unmasked(exp_nonpositive(at_most_zero(score - in.lse(row))));

    dprobabilities(key, row, instance) = zero;
    dprobabilities(key, row, instance) += in.vt(key, over_head_dim_v) * in.dout(over_head_dim_v, row);
    const Expr dp = dprobabilities(key, row, instance) - in.delta(row);

    if (differs) {
        probabilities(key, row, instance) = Tuple(p, p * derivative);
        dscores(key, row, instance) = Tuple(where_unmasked(probabilities(key, row, instance)[1] * dp),
                                            where_unmasked(probabilities(key, row, instance)[0] * dp));
    } else {
        probabilities(key, row, instance) = p;
        dscores(key, row, instance) = where_unmasked(probabilities(key, row, instance) * dp);
    }
    const auto p_at = [&](const Expr &j, const Expr &i) {
        return differs ? Expr(probabilities(j, i, instance)[0]) : Expr(probabilities(j, i, instance));
    };
    const auto ds_at = [&](const Expr &j, const Expr &i) {
        return differs ? Expr(dscores(j, i, instance)[0]) : Expr(dscores(j, i, instance));
    };
    // 0 * NaN is NaN: the operands of a masked pair must not enter a product.
    const auto operand = [&](const Expr &j, const Expr &i, const Expr &value) {
        return unmasked.defined() ? select(unmasked(j, i, instance), value, zero) : value;
    };
    dq(channel, row, instance) = zero;
    dq(channel, row, instance) += ds_at(over_keys, row) * operand(over_keys, row, in.k(channel, over_keys));
    dk(channel, key, instance) = zero;
    dk(channel, key, instance) += ds_at(key, over_rows) * operand(key, over_rows, in.q(channel, over_rows));
    dv(channel, key, instance) = zero;
    dv(channel, key, instance) += p_at(key, over_rows) * operand(key, over_rows, in.dout(channel, over_rows));
}

}  // namespace flashwright
