// The score of one pair of a query and a key by its definition, and the softmax of a row of scores.
#pragma once

#include "flashwright/flashwright.h"
#include "tensor_reader.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace flashwright {

// What happens to the result of each step; null: nothing.
using Rounding = double (*)(double);

template <typename Real>
Real rounded(Rounding rounding, Real value) {
    return rounding == nullptr ? value : static_cast<Real>(rounding(static_cast<double>(value)));
}

// A key that a query attends to.
template <typename Real>
struct UnmaskedKey {
    std::int64_t key;
    Real score;
    Real derivative;       // of the score by the scaled dot product
    Real probability = 0;  // softmax of the row's scores
};

template <typename Real>
struct SoftmaxRow {
    std::vector<UnmaskedKey<Real>> keys;
    Real sum;  // of exp(score - largest score)
    Real softmax_lse;
};

// Calculates in Real.
template <typename Real>
class ReferenceScore {
 public:
    ReferenceScore(const flashwright_tensor &q, const flashwright_tensor &k, const flashwright_score_options &options)
        : q_(q),
          k_(k),
          options_(options),
          key_lengths_(optional_reader(options.key_lengths)),
          bias_(optional_reader(options.bias)),
          mask_(optional_reader(options.mask)),
          alibi_slopes_(optional_reader(options.alibi_slopes)),
          scale_(options.softmax_scale != nullptr ? *options.softmax_scale
                                                  : 1 / std::sqrt(static_cast<double>(q_.channels()))) {}

    const TensorRows &q() const { return q_; }
    const TensorRows &k() const { return k_; }
    double scale() const { return scale_; }
    std::int64_t head_kv(std::int64_t head) const { return head / (q_.heads() / k_.heads()); }

    // Nothing where the key is masked: then neither Q nor K is read.
    std::optional<UnmaskedKey<Real>> operator()(std::int64_t batch, std::int64_t head, std::int64_t i,
                                                std::int64_t j) const {
        const Position diagonal = i + diagonal_offset(batch);
        if (!position_is_unmasked(batch, diagonal, j) || (mask_ && (*mask_)(batch, head, i, j) == 0)) {
            return std::nullopt;
        }
        const double bias = bias_ ? (*bias_)(batch, head, i, j) : 0;
        if (bias == -std::numeric_limits<double>::infinity()) {
            return std::nullopt;
        }
        Real score = dot(batch, head, i, j) * static_cast<Real>(scale_), derivative = 1;
        if (options_.softcap != 0) {
            const Real softcap = static_cast<Real>(options_.softcap), tanh = std::tanh(score / softcap);
            score = softcap * tanh;
            derivative = 1 - tanh * tanh;
        }
        if (alibi_slopes_) {
            const Position distance = j < diagonal ? diagonal - j : j - diagonal;
            score -= static_cast<Real>((*alibi_slopes_)(0, 0, 0, head)) *
                     static_cast<Real>(static_cast<std::uint64_t>(distance));
        }
        return UnmaskedKey<Real>{j, score + static_cast<Real>(bias), derivative};
    }

    // Scores and probabilities are rounded.
    void softmax(std::int64_t batch, std::int64_t head, std::int64_t i, Rounding rounding,
                 SoftmaxRow<Real> &row) const {
        constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
        Real largest = -kInfinity;
        row.keys.clear();
        for (std::int64_t j = 0; j < k_.rows(); ++j) {
            if (auto key = (*this)(batch, head, i, j)) {
                key->score = rounded(rounding, key->score);
                largest = std::fmax(largest, key->score);  // passes over NaN, which reaches the row by its weight
                row.keys.push_back(*key);
            }
        }
        const Real shift = largest == -kInfinity ? 0 : largest;  // a score of -infinity has weight 0 in any row
        row.sum = 0;
        for (UnmaskedKey<Real> &key : row.keys) row.sum += key.probability = std::exp(key.score - shift);
        for (UnmaskedKey<Real> &key : row.keys) key.probability = rounded(rounding, key.probability / row.sum);
        row.softmax_lse = row.sum == 0 ? -kInfinity : largest + std::log(row.sum);
    }

 private:
    __extension__ typedef __int128 Position;  // sums of positions and offsets never overflow

    TensorRows q_, k_;
    const flashwright_score_options &options_;
    std::optional<TensorReader> key_lengths_, bias_, mask_, alibi_slopes_;
    double scale_;

    static std::optional<TensorReader> optional_reader(const flashwright_tensor *tensor) {
        if (tensor == nullptr || tensor->data == nullptr) return std::nullopt;
        return TensorReader(*tensor);
    }

    std::int64_t key_length(std::int64_t batch) const {
        return key_lengths_ ? static_cast<std::int64_t>((*key_lengths_)(0, 0, 0, batch)) : k_.rows();
    }

    Position diagonal_offset(std::int64_t batch) const {
        if (options_.diagonal != nullptr) return *options_.diagonal;
        return options_.align == FLASHWRIGHT_ALIGN_BOTTOM_RIGHT ? key_length(batch) - q_.rows() : 0;
    }

    bool position_is_unmasked(std::int64_t batch, Position diagonal, std::int64_t j) const {
        if (j >= key_length(batch) || (options_.causal != 0 && j > diagonal)) return false;
        if (options_.window_left >= 0 && j < diagonal - options_.window_left) return false;
        return options_.window_right < 0 || j <= diagonal + options_.window_right;
    }

    Real dot(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) const {
        const double *q = q_.row(batch, head, i), *k = k_.row(batch, head_kv(head), j);
        Real sum = 0;
        for (std::int64_t c = 0; c < q_.channels(); ++c) sum += static_cast<Real>(q[c]) * static_cast<Real>(k[c]);
        return sum;
    }
};

}  // namespace flashwright
