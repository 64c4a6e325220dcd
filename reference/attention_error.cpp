#include "attention_error.h"

#include "strided_view.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {

double difference(double exact, double actual) {
    if (exact == actual || (std::isnan(exact) && std::isnan(actual))) {
        return 0;
    }
    const double distance = std::abs(exact - actual);
    return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

double largest_finite(const std::vector<double> &values) {
    double largest = 0;
    for (const double value : values) {
        if (std::isfinite(value)) {
            largest = std::max(largest, std::abs(value));
        }
    }
    return largest;
}

namespace {

template <typename T>
AttentionError attention_error_of(const ExactAttention &exact, const StridedView<T> &out, const StridedView<T> &lse) {
    AttentionError error = {0, 0};
    std::size_t row = 0, element = 0;
    for (std::int64_t batch = 0; batch < out.shape[0]; ++batch) {
        for (std::int64_t head = 0; head < out.shape[1]; ++head) {
            for (std::int64_t i = 0; i < out.shape[2]; ++i, ++row) {
                const double exact_lse = exact.softmax_lse[row];
                const double lse_unit = std::isfinite(exact_lse) ? std::max(1.0, std::abs(exact_lse)) : 1;
                error.softmax_lse =
                    std::max(error.softmax_lse, difference(exact_lse, lse(0, batch, head, i)) / lse_unit);
                for (std::int64_t c = 0; c < out.shape[3]; ++c, ++element) {
                    error.out = std::max(error.out, difference(exact.out[element], out(batch, head, i, c)));
                }
            }
        }
    }
    const double unit = largest_finite(exact.out);
    error.out /= unit > 0 ? unit : 1;
    return error;
}

}  // namespace

AttentionError attention_error(const ExactAttention &exact, const flashwright_tensor &out,
                               const flashwright_tensor &softmax_lse) {
    if (out.dtype == FLASHWRIGHT_F64) {
        return attention_error_of(exact, StridedView<double>(out), StridedView<double>(softmax_lse));
    }
    return attention_error_of(exact, StridedView<float>(out), StridedView<float>(softmax_lse));
}

double attention_tolerance(flashwright_dtype dtype) { return dtype == FLASHWRIGHT_F64 ? 1e-9 : 1e-5; }

}  // namespace flashwright
