// The reference for the problems of the tests: it calculates in double for f32 and f16 data, in long double for f64
// data.
#pragma once

#include "problem.h"
#include "reference/reference_attention.h"
#include "reference/reference_gradient.h"

#include <vector>

namespace flashwright::test {

ReferenceAttention reference_forward(const Problem &problem);

// Attention in f16 that rounds each step.
ReferenceAttention plain_forward(const Problem &problem);

// The gradient of sum(dout * out); dout is row-major.
ReferenceGradient reference_backward(const Problem &problem, const std::vector<double> &dout);

// The same with sum(dout * out) of each row from the problem's out, which is rounded, as calls get it.
ReferenceGradient reference_backward_from_out(const Problem &problem, const std::vector<double> &dout);

// What a backward kernel is compared with: from the problem's out where its elements are rounded.
ReferenceGradient expected_backward(const Problem &problem, const std::vector<double> &dout);

// Gradients in f16 by attention that rounds each step. Units are those of reference_backward.
ReferenceGradient plain_backward(const Problem &problem, const std::vector<double> &dout);

// The natural scores a step call takes: [batch, heads, seqlen_q, seqlen_k], -inf where masked.
std::vector<double> reference_scores(const Problem &problem);

}  // namespace flashwright::test
