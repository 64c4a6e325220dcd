// The problem sizes of benchmarks and of the tuner, written B,HQ,HKV,TQ,TK,D[,DV][,causal].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

struct ShapeSpec {
    std::int64_t batch, num_heads, num_heads_kv, seqlen_q, seqlen_k, head_dim, head_dim_v;
    bool causal;  // top-left
};

ShapeSpec parse_shape_spec(const std::string &text);  // throws std::invalid_argument
std::string to_string(const ShapeSpec &shape);        // what parse_shape_spec reads; DV only where it differs from D

// Multiplications and additions of the forward pass: 2 * (D + DV) for each unmasked pair of query and key.
double forward_flops(const ShapeSpec &shape);
// And of the backward pass: 6 * D + 4 * DV.
double backward_flops(const ShapeSpec &shape);

// Elements of Q, K, V and the output.
double forward_elements(const ShapeSpec &shape);

// The default shapes of `flashwright bench`: dense and causal, short and long, an image encoder, odd sizes.
const std::vector<ShapeSpec> &default_shapes();

}  // namespace flashwright
