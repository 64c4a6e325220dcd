#include "reference_attention.h"

#include "reference_score.h"

namespace flashwright {
namespace {

// visit(batch, head, i) for each query, in the order of the results.
template <typename Visit>
void for_each_query(const TensorRows &q, Visit visit) {
    for (std::int64_t batch = 0; batch < q.batches(); ++batch)
        for (std::int64_t head = 0; head < q.heads(); ++head)
            for (std::int64_t i = 0; i < q.rows(); ++i) visit(batch, head, i);
}

template <typename Real>
ReferenceAttention attention(const flashwright_forward_args &args, Rounding rounding) {
    const ReferenceScore<Real> score(args.q, args.k, args.score);
    const TensorRows v(args.v);
    ReferenceAttention result;
    SoftmaxRow<Real> row;
    std::vector<Real> out(static_cast<std::size_t>(v.channels()));
    for_each_query(score.q(), [&](std::int64_t batch, std::int64_t head, std::int64_t i) {
        score.softmax(batch, head, i, rounding, row);
        std::fill(out.begin(), out.end(), Real(0));
        for (const UnmaskedKey<Real> &key : row.keys) {
            if (row.sum == 0) break;
            const double *values = v.row(batch, score.head_kv(head), key.key);
            for (std::size_t c = 0; c < out.size(); ++c) out[c] += key.probability * static_cast<Real>(values[c]);
        }
        for (const Real value : out) result.out.push_back(static_cast<double>(rounded(rounding, value)));
        result.softmax_lse.push_back(static_cast<double>(row.softmax_lse));
    });
    return result;
}

}  // namespace

template <typename Real>
ReferenceAttention reference_attention(const flashwright_forward_args &args) {
    return attention<Real>(args, nullptr);
}
template ReferenceAttention reference_attention<double>(const flashwright_forward_args &);
template ReferenceAttention reference_attention<long double>(const flashwright_forward_args &);

ReferenceAttention plain_attention(const flashwright_forward_args &args, double (*rounding)(double)) {
    return attention<double>(args, rounding);
}

std::vector<double> reference_scores(const flashwright_forward_args &args) {
    const ReferenceScore<double> score(args.q, args.k, args.score);
    std::vector<double> scores;
    for_each_query(score.q(), [&](std::int64_t batch, std::int64_t head, std::int64_t i) {
        for (std::int64_t j = 0; j < score.k().rows(); ++j) {
            const auto key = score(batch, head, i, j);
            scores.push_back(key ? key->score : -std::numeric_limits<double>::infinity());
        }
    });
    return scores;
}

}  // namespace flashwright
