#include "attention_error.h"

#include "element.h"
#include "tensor_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

double difference(double expected, double actual) {
    if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
    const double distance = std::fabs(expected - actual);
    return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

// unit(expected) is what a difference is relative to.
template <typename Unit>
double largest_difference(const std::vector<double> &expected, const flashwright_tensor &tensor, Unit unit) {
    const TensorRows actual(tensor);
    double largest = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
        const double value = actual.values()[n];
        const double error = difference(expected[n], value) - rounding_radius(tensor.dtype, value);
        largest = std::max(largest, error / unit(expected[n]));
    }
    return largest;
}

double largest_difference(const std::vector<double> &expected, const flashwright_tensor &tensor, double unit) {
    return largest_difference(expected, tensor, [unit](double) { return unit > 0 ? unit : 1; });
}

}  // namespace

double largest_finite(const std::vector<double> &values) {
    double largest = 0;
    for (const double value : values)
        if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    return largest;
}

AttentionError attention_error(const ReferenceAttention &reference, const flashwright_tensor &out,
                               const flashwright_tensor &softmax_lse) {
    const auto lse_unit = [](double lse) { return std::isfinite(lse) ? std::max(1.0, std::fabs(lse)) : 1; };
    return {largest_difference(reference.out, out, largest_finite(reference.out)),
            largest_difference(reference.softmax_lse, softmax_lse, lse_unit)};
}

GradientError gradient_error(const ReferenceGradient &reference, const flashwright_backward_args &args) {
    GradientError error;
    error.gradients.emplace_back("dq", largest_difference(reference.dq, args.dq, reference.dq_unit));
    error.gradients.emplace_back("dk", largest_difference(reference.dk, args.dk, reference.dk_unit));
    error.gradients.emplace_back("dv", largest_difference(reference.dv, args.dv, reference.dv_unit));
    if (args.dbias.data != nullptr) {
        error.gradients.emplace_back("dbias", largest_difference(reference.dbias, args.dbias, reference.dbias_unit));
    }
    return error;
}

}  // namespace flashwright
