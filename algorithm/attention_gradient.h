// The gradient of attention for one tile of queries and keys as Halide Funcs, without a schedule (Dao et al. 2022,
// appendix B.2). With scores S = terms(scale Q K^T) of score_terms.h, lse from forward, and delta_i = dO_i . out_i:
//
//   P  = exp(S - lse),   dP = dO V^T,   dS = P (dP - delta),   dS0 = dS terms'(scale Q K^T),
//   dV = P^T dO,   dK = scale dS0^T Q,   dQ = scale dS0 K.   dS is the gradient of a bias.
//
// P, dP, dS and dS0 are multiplied element by element. Masked pairs have P = 0. No maximum is needed, as S <= lse.
#pragma once

#include "score_terms.h"

#include <Halide.h>

#include <functional>
#include <string>

namespace flashwright {

// The tile's operands.
struct GradientInputs {
    using Matrix = std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)>;
    using Vector = std::function<Halide::Expr(const Halide::Expr &)>;

    Matrix q, dout;  // (channel, row)
    Matrix k;        // (channel, key)
    Matrix kt, vt;   // (key, channel)
    Vector lse;      // (row); +infinity for a fully masked row
    Vector delta;    // (row): the sum of dout * out
    Halide::Expr scale;
    Halide::Expr rows, keys, head_dim, head_dim_v;
};

// One code path for the tile. `instance` tells tiles apart in kernels that compute several. In others it is a loop of
// `count` = 0 or 1 iterations: such a kernel holds several code paths and runs one of them.
struct GradientTile {
    // `assume_finite`: Q, K and dO are finite wherever `terms` mask pairs. Otherwise each operand of a masked pair is
    // replaced by 0, which keeps NaN and infinity out at the cost of a select.
    GradientTile(const std::string &name, halide_type_t type, const GradientInputs &in, const ScoreTerms &terms,
                 bool assume_finite, const Halide::Expr &count);

    Halide::Var key{"key"}, row{"row"}, channel{"channel"}, instance{"instance"};
    Halide::Func unmasked;             // (key, row, instance); may be undefined
    Halide::Func dots, probabilities;  // (key, row, instance); the latter also times the derivative of the score terms
    Halide::Func dprobabilities, dscores;  // likewise; the latter also before that derivative (the gradient of a bias)
    // (channel, row | key, instance): sums over the tile; dq and dk are not yet multiplied by the softmax scale.
    Halide::Func dq, dk, dv;
    Halide::RDom over_head_dim, over_head_dim_v, over_keys, over_rows, instances;
};

}  // namespace flashwright
