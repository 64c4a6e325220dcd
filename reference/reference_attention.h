// Attention by its definition, in double: what kernels are checked against. Written as plainly as possible and
// sharing nothing with the library but its argument struct.
#pragma once

#include "flashwright/flashwright.h"

#include <vector>

namespace flashwright {

struct ExactAttention {
    std::vector<double> out;          // [batch, heads, seqlen_q, head_dim_v], row-major
    std::vector<double> softmax_lse;  // [batch, heads, seqlen_q]
};

// Takes what flashwright_forward takes and has accepted; reads everything but out and softmax_lse. The memory it needs
// besides its result is one row of scores.
ExactAttention exact_attention(const flashwright_forward_args &args);

}  // namespace flashwright
