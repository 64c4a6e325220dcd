// Exact attention the naive way, written from the definition and sharing nothing with the library.
#pragma once

#include "problem.h"

#include <vector>

namespace flashwright::test {

struct Exact {
    std::vector<double> out;  // [batch, heads, seqlen_q, head_dim_v], row-major
    std::vector<double> lse;  // [batch, heads, seqlen_q]
};

// In double for f32 data, in long double for f64 data.
Exact exact_forward(const Problem &problem);

struct ExactGradient {
    std::vector<double> dq, dk, dv;  // row-major
    std::vector<double> dbias;       // of the shape of the bias, empty without one
    // What rounding is relative to: of each gradient the largest sum of magnitudes that a row is the sum of, which
    // stays when the sum itself cancels.
    double dq_unit = 0, dk_unit = 0, dv_unit = 0, dbias_unit = 0;
};

// The gradient of sum(dout * out) by its definition, from exact probabilities; precision as in exact_forward.
ExactGradient exact_backward(const Problem &problem, const std::vector<double> &dout);

// The same with sum(dout * out) of each row from the problem's out, which is rounded, as calls get it.
ExactGradient exact_backward_from_out(const Problem &problem, const std::vector<double> &dout);

// What attention in f16 gives that writes down each step: scores, weights, dP = dout * v, dS, and dS again behind a
// soft cap, each rounded to f16, and so the gradients; exact in between. Units are those of exact_backward.
ExactGradient plain_backward(const Problem &problem, const std::vector<double> &dout);

// The natural scores a step call takes: [batch, heads, seqlen_q, seqlen_k], -inf where hidden.
std::vector<double> exact_scores(const Problem &problem);

}  // namespace flashwright::test
