#include "forward_sample.h"

#include "reference/contiguous_tensor.h"

namespace flashwright {

ForwardSample::ForwardSample(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement) : shape_(shape) {
    flashwright_forward_args_init(&args_);
    args_.q = contiguous_tensor(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim});
    args_.k = contiguous_tensor(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim});
    args_.v = contiguous_tensor(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim_v});
    args_.out = contiguous_tensor(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim_v});
    args_.score.causal = shape.causal ? 1 : 0;
    memory_ = allocate_tensors({&args_.q, &args_.k, &args_.v, &args_.out}, placement);
}

void ForwardSample::fill() {
    fill_with_g(args_.q, 1);
    fill_with_g(args_.k, 2);
    fill_with_g(args_.v, 3);
}

}  // namespace flashwright
