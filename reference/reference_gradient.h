// The gradients of attention by their definition, in double: what backward kernels are checked against.
#pragma once

#include "flashwright/flashwright.h"

#include <string>
#include <utility>
#include <vector>

namespace flashwright {

struct ExactGradient {
    std::vector<double> dq, dk, dv, dbias;  // row-major, of their tensors' shapes; dbias is empty unless asked for
    // Of each the largest sum of magnitudes that a row is made of: what rounding is relative to, also where terms
    // cancel.
    double dq_size = 0, dk_size = 0, dv_size = 0, dbias_size = 0;
};

// Takes what flashwright_backward takes and has accepted; the probabilities are computed anew, out and softmax_lse not
// read.
ExactGradient exact_gradient(const flashwright_backward_args &args);

// How far the gradients in `args` are from exact ones: the largest difference of each, relative to its size.
struct GradientError {
    std::vector<std::pair<std::string, double>> gradients;
};
GradientError gradient_error(const ExactGradient &exact, const flashwright_backward_args &args);

// What `flashwright run backward --verify` accepts.
double gradient_tolerance(flashwright_dtype dtype);

}  // namespace flashwright
