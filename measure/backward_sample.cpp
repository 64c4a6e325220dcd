#include "backward_sample.h"

#include "check_status.h"
#include "kernels/dtype_dispatch.h"
#include "reference/contiguous_tensor.h"

namespace flashwright {

BackwardSample::BackwardSample(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement)
    : forward_(shape, dtype, placement) {
    const flashwright_forward_args &forward = forward_.args();
    flashwright_backward_args_init(&args_);
    args_.q = args_.dq = forward.q;
    args_.k = args_.dk = forward.k;
    args_.v = args_.dv = forward.v;
    args_.out = args_.dout = forward.out;
    args_.softmax_lse = contiguous_tensor(accumulation_dtype(dtype), {shape.batch, shape.num_heads, shape.seqlen_q});
    args_.score = forward.score;
    memory_ = allocate_tensors({&args_.softmax_lse, &args_.dout, &args_.dq, &args_.dk, &args_.dv}, placement);
}

void BackwardSample::fill() {
    forward_.fill();
    fill_with_g(args_.dout, 4);
    flashwright_forward_args forward = forward_.args();
    forward.softmax_lse = args_.softmax_lse;
    check(flashwright_forward(&forward, nullptr));
}

}  // namespace flashwright
