#include "reference_attention.h"

#include "reference_score.h"
#include "strided_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace flashwright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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
    const ExactScore<T> score(args.q, args.k, args.score);
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
