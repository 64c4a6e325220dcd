#include "reference.h"

#include "kernels/dtype_dispatch.h"
#include "reference/binary16.h"

#include <algorithm>

namespace flashwright::test {

namespace {

// `dout` must outlive the result. Of dbias the reference takes the shape alone.
flashwright_backward_args backward_args(const Problem &problem, const std::vector<double> &dout) {
    const flashwright_forward_args forward = problem.args();
    flashwright_backward_args args;
    flashwright_backward_args_init(&args);
    args.q = forward.q, args.k = forward.k, args.v = forward.v, args.out = forward.out;
    args.dout = args.out;
    args.dout.data = const_cast<double *>(dout.data());
    args.dout.dtype = FLASHWRIGHT_F64;
    const std::vector<std::int64_t> strides = contiguous_strides(problem.out.shape());
    std::copy(strides.begin(), strides.end(), args.dout.strides);
    if (problem.bias.given()) args.dbias = problem.bias.view();
    args.score = forward.score;
    return args;
}

}  // namespace

ReferenceAttention reference_forward(const Problem &problem) {
    return problem.dtype == FLASHWRIGHT_F64 ? reference_attention<long double>(problem.args())
                                            : reference_attention<double>(problem.args());
}

ReferenceAttention plain_forward(const Problem &problem) {
    return plain_attention(problem.args(), rounded_to_binary16);
}

ReferenceGradient expected_backward(const Problem &problem, const std::vector<double> &dout) {
    return rounds(problem.dtype) ? reference_backward_from_out(problem, dout) : reference_backward(problem, dout);
}

ReferenceGradient reference_backward(const Problem &problem, const std::vector<double> &dout) {
    const flashwright_backward_args args = backward_args(problem, dout);
    return problem.dtype == FLASHWRIGHT_F64 ? reference_gradient<long double>(args) : reference_gradient<double>(args);
}

ReferenceGradient reference_backward_from_out(const Problem &problem, const std::vector<double> &dout) {
    return reference_gradient_from_out(backward_args(problem, dout));
}

ReferenceGradient plain_backward(const Problem &problem, const std::vector<double> &dout) {
    return plain_gradient(backward_args(problem, dout), rounded_to_binary16);
}

std::vector<double> reference_scores(const Problem &problem) { return flashwright::reference_scores(problem.args()); }

}  // namespace flashwright::test
