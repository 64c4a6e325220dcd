// The gradients of attention by their definition: what backward kernels are checked against.
#pragma once

#include "flashwright/flashwright.h"

#include <vector>

namespace flashwright {

struct ReferenceGradient {
    std::vector<double> dq, dk, dv, dbias;  // row-major, of their tensors' shapes; dbias is empty unless asked for
    // What errors of each are relative to: the largest sum of magnitudes that a row is made of. Rounding is relative to
    // this even where terms cancel.
    double dq_unit = 0, dk_unit = 0, dv_unit = 0, dbias_unit = 0;
};

// Takes what flashwright_backward or flashwright_gpu_backward takes and accepts. Probabilities and out are calculated
// anew: reads neither out nor softmax_lse, and of dbias only whether it has data, and its shape. Real is what it
// calculates in: double or long double.
template <typename Real = double>
ReferenceGradient reference_gradient(const flashwright_backward_args &args);

// The same, but with sum(dout * out) of each row from args.out, which is rounded: as kernels get it.
ReferenceGradient reference_gradient_from_out(const flashwright_backward_args &args);

// What a backward kernel is compared with: the gradients from args.out where its elements are rounded.
ReferenceGradient expected_gradient(const flashwright_backward_args &args);

// Gradients by attention that writes each step down in a narrow type: scores, probabilities, dP = dout * v, dS before
// and after the soft cap, and the results are rounded, and exact in between. Units are rounded nowhere.
ReferenceGradient plain_gradient(const flashwright_backward_args &args, double (*rounding)(double));

}  // namespace flashwright
