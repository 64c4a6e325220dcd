// Attention by its definition: what kernels are checked against. Written as plainly as possible and sharing nothing
// with the library but its argument structs.
#pragma once

#include "flashwright/flashwright.h"

#include <vector>

namespace flashwright {

struct ReferenceAttention {
    std::vector<double> out;          // [batch, heads, seqlen_q, head_dim_v], row-major
    std::vector<double> softmax_lse;  // [batch, heads, seqlen_q]
};

// Takes what flashwright_forward or flashwright_gpu_forward takes and accepts; reads everything but out and
// softmax_lse. Real is what it calculates in: double or long double.
template <typename Real = double>
ReferenceAttention reference_attention(const flashwright_forward_args &args);

// Attention that writes each step down in a narrow type: scores, probabilities and out are rounded, and exact in
// between. Kernels of that type may have at most twice its error.
ReferenceAttention plain_attention(const flashwright_forward_args &args, double (*rounding)(double));

// The scores that flashwright_online_softmax_step takes: [batch, heads, seqlen_q, seqlen_k], -infinity where the key is
// masked. Reads q, k and the score options alone.
std::vector<double> reference_scores(const flashwright_forward_args &args);

}  // namespace flashwright
