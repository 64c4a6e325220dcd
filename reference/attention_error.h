// How far a kernel's result is from exact attention, and how far it may be.
#pragma once

#include "flashwright/flashwright.h"
#include "reference_attention.h"

namespace flashwright {

struct AttentionError {
    double out;          // largest difference, relative to the largest finite |exact out|
    double softmax_lse;  // largest difference, each relative to max(1, |exact lse|)
};

// A NaN or an infinity counts as no difference where both sides hold it, and as an infinite one where they do not.
AttentionError attention_error(const ExactAttention &exact, const flashwright_tensor &out,
                               const flashwright_tensor &softmax_lse);

// NaN and infinity as above.
double difference(double exact, double actual);
double largest_finite(const std::vector<double> &values);

// What `flashwright run forward --verify` accepts of either.
double attention_tolerance(flashwright_dtype dtype);

}  // namespace flashwright
