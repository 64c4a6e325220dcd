// The score of one pair of a query and a key by its definition, in double.
#pragma once

#include "flashwright/flashwright.h"
#include "strided_view.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

namespace flashwright {

inline std::int64_t sum_within_range(std::int64_t a, std::int64_t b) {
    std::int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) {
        return sum;
    }
    return b < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

template <typename T>
std::optional<StridedView<T>> optional_view(const flashwright_tensor *tensor) {
    if (tensor == nullptr || tensor->data == nullptr) {
        return std::nullopt;
    }
    return StridedView<T>(*tensor);
}

// What the score of one (query, key) pair goes through, in the order of the definition.
template <typename T>
class ExactScore {
 public:
    ExactScore(const flashwright_tensor &q, const flashwright_tensor &k, const flashwright_score_options &options)
        : q_(q),
          k_(k),
          options_(options),
          key_lengths_(optional_view<std::int32_t>(options.key_lengths)),
          bias_(optional_view<T>(options.bias)),
          mask_(optional_view<std::uint8_t>(options.mask)),
          alibi_slopes_(optional_view<T>(options.alibi_slopes)),
          scale_(options_.softmax_scale != nullptr ? *options_.softmax_scale
                                                   : 1 / std::sqrt(static_cast<double>(q_.shape[3]))) {}

    // Nothing: the key is hidden, and then neither Q nor K is looked at.
    // `slope`, if given, becomes the derivative of the score by the scaled dot product.
    std::optional<double> operator()(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j,
                                     double *slope = nullptr) const {
        const std::int64_t diagonal = sum_within_range(i, diagonal_offset(batch));
        if (!position_is_seen(batch, diagonal, j) || (mask_ && (*mask_)(batch, head, i, j) == 0)) {
            return std::nullopt;
        }
        const double bias = bias_ ? static_cast<double>((*bias_)(batch, head, i, j)) : 0;
        if (bias == -std::numeric_limits<double>::infinity()) {
            return std::nullopt;
        }
        double score = dot(batch, head, i, j) * scale_;
        if (slope != nullptr) {
            *slope = 1;
        }
        if (options_.softcap != 0) {
            const double tanh = std::tanh(score / options_.softcap);
            score = options_.softcap * tanh;
            if (slope != nullptr) {
                *slope = 1 - tanh * tanh;
            }
        }
        if (alibi_slopes_) {
            const double alibi_slope = (*alibi_slopes_)(0, 0, 0, head);
            score -= alibi_slope * std::abs(static_cast<double>(j) - static_cast<double>(diagonal));
        }
        return score + bias;
    }

    double scale() const { return scale_; }

 private:
    StridedView<T> q_, k_;
    const flashwright_score_options &options_;
    std::optional<StridedView<std::int32_t>> key_lengths_;
    std::optional<StridedView<T>> bias_;
    std::optional<StridedView<std::uint8_t>> mask_;
    std::optional<StridedView<T>> alibi_slopes_;
    double scale_;

    std::int64_t key_length(std::int64_t batch) const {
        return key_lengths_ ? (*key_lengths_)(0, 0, 0, batch) : k_.shape[2];
    }

    std::int64_t diagonal_offset(std::int64_t batch) const {
        if (options_.diagonal != nullptr) {
            return *options_.diagonal;
        }
        return options_.align == FLASHWRIGHT_ALIGN_BOTTOM_RIGHT ? key_length(batch) - q_.shape[2] : 0;
    }

    bool position_is_seen(std::int64_t batch, std::int64_t diagonal, std::int64_t j) const {
        if (j >= key_length(batch) || (options_.causal != 0 && j > diagonal)) {
            return false;
        }
        if (options_.window_left >= 0 && j < sum_within_range(diagonal, -options_.window_left)) {
            return false;
        }
        return options_.window_right < 0 || j <= sum_within_range(diagonal, options_.window_right);
    }

    double dot(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) const {
        const std::int64_t head_kv = head / (q_.shape[1] / k_.shape[1]);
        double sum = 0;
        for (std::int64_t c = 0; c < q_.shape[3]; ++c) {
            sum += static_cast<double>(q_(batch, head, i, c)) * static_cast<double>(k_(batch, head_kv, j, c));
        }
        return sum;
    }
};

}  // namespace flashwright
