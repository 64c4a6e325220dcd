#include "exact_attention.h"

#include "strided_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace flashwright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
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
class Score {
 public:
    explicit Score(const flashwright_forward_args &args)
        : q_(args.q),
          k_(args.k),
          options_(args.score),
          key_lengths_(optional_view<std::int32_t>(args.score.key_lengths)),
          bias_(optional_view<T>(args.score.bias)),
          mask_(optional_view<std::uint8_t>(args.score.mask)),
          alibi_slopes_(optional_view<T>(args.score.alibi_slopes)),
          scale_(options_.softmax_scale != nullptr ? *options_.softmax_scale
                                                   : 1 / std::sqrt(static_cast<double>(q_.shape[3]))) {}

    // Nothing: the key is hidden, and then neither Q nor K is looked at.
    std::optional<double> operator()(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) const {
        const std::int64_t diagonal = saturating_add(i, diagonal_offset(batch));
        if (!position_is_seen(batch, diagonal, j) || (mask_ && (*mask_)(batch, head, i, j) == 0)) {
            return std::nullopt;
        }
        const double bias = bias_ ? static_cast<double>((*bias_)(batch, head, i, j)) : 0;
        if (bias == -kInfinity) {
            return std::nullopt;
        }
        double score = dot(batch, head, i, j) * scale_;
        if (options_.softcap != 0) {
            score = options_.softcap * std::tanh(score / options_.softcap);
        }
        if (alibi_slopes_) {
            const double slope = (*alibi_slopes_)(0, 0, 0, head);
            score -= slope * std::abs(static_cast<double>(j) - static_cast<double>(diagonal));
        }
        return score + bias;
    }

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
        if (options_.window_left >= 0 && j < saturating_add(diagonal, -options_.window_left)) {
            return false;
        }
        return options_.window_right < 0 || j <= saturating_add(diagonal, options_.window_right);
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

// One row: out[0 .. head_dim_v) = softmax(scores) V, where only the keys that are seen exist. Returns lse.
template <typename T>
double attend_row(const StridedView<T> &v, std::int64_t batch, std::int64_t head_kv,
                  const std::vector<std::optional<double>> &scores, double *out) {
    double largest = -kInfinity;
    for (const auto &score : scores) {
        if (score) {
            largest = std::max(largest, *score);  // passes over NaN, which reaches the row through its weight
        }
    }
    const double shift = largest == -kInfinity ? 0 : largest;  // a score of -infinity has weight 0, whatever the others
    double sum = 0;
    std::fill(out, out + v.shape[3], 0.0);
    for (std::size_t j = 0; j < scores.size(); ++j) {
        if (!scores[j]) {
            continue;
        }
        const double weight = std::exp(*scores[j] - shift);
        sum += weight;
        for (std::int64_t c = 0; c < v.shape[3]; ++c) {
            out[c] += weight * static_cast<double>(v(batch, head_kv, static_cast<std::int64_t>(j), c));
        }
    }
    if (sum == 0) {
        return -kInfinity;
    }
    for (std::int64_t c = 0; c < v.shape[3]; ++c) {
        out[c] /= sum;
    }
    return largest + std::log(sum);
}

template <typename T>
ExactAttention exact_attention_of(const flashwright_forward_args &args) {
    const StridedView<T> q(args.q), k(args.k), v(args.v);
    const Score<T> score(args);
    const std::int64_t rows = q.shape[0] * q.shape[1] * q.shape[2];
    ExactAttention result;
    result.out.resize(static_cast<std::size_t>(rows * v.shape[3]));
    result.softmax_lse.resize(static_cast<std::size_t>(rows));
    std::vector<std::optional<double>> scores(static_cast<std::size_t>(k.shape[2]));
    std::size_t row = 0;
    for (std::int64_t batch = 0; batch < q.shape[0]; ++batch) {
        for (std::int64_t head = 0; head < q.shape[1]; ++head) {
            const std::int64_t head_kv = head / (q.shape[1] / k.shape[1]);
            for (std::int64_t i = 0; i < q.shape[2]; ++i, ++row) {
                for (std::int64_t j = 0; j < k.shape[2]; ++j) {
                    scores[static_cast<std::size_t>(j)] = score(batch, head, i, j);
                }
                double *out = result.out.data() + row * static_cast<std::size_t>(v.shape[3]);
                result.softmax_lse[row] = attend_row(v, batch, head_kv, scores, out);
            }
        }
    }
    return result;
}

}  // namespace

ExactAttention exact_attention(const flashwright_forward_args &args) {
    return args.q.dtype == FLASHWRIGHT_F64 ? exact_attention_of<double>(args) : exact_attention_of<float>(args);
}

}  // namespace flashwright
