// How far results are from the reference. kernels/dtype.h says how far they may be.
#pragma once

#include "flashwright/flashwright.h"
#include "reference_attention.h"
#include "reference_gradient.h"

#include <string>
#include <utility>
#include <vector>

namespace flashwright {

struct AttentionError {
    double out;          // largest difference, relative to the largest finite |out| of the reference
    double softmax_lse;  // largest difference, each relative to max(1, |lse|) of the reference
};

// Where elements are narrower than sums, a difference is that of the values before they were rounded to elements.
// NaN and infinity are no difference where both sides hold it, and an infinite one where one side does.
AttentionError attention_error(const ReferenceAttention &reference, const flashwright_tensor &out,
                               const flashwright_tensor &softmax_lse);

// How far the gradients in `args` are from the reference: the largest difference of each, relative to its unit.
struct GradientError {
    std::vector<std::pair<std::string, double>> gradients;
};
GradientError gradient_error(const ReferenceGradient &reference, const flashwright_backward_args &args);

// The largest finite magnitude; 0 without one.
double largest_finite(const std::vector<double> &values);

}  // namespace flashwright
