#include "reference.h"

#include "half.h"

#include <cmath>
#include <limits>

namespace flashwright::test {

namespace {

__extension__ typedef __int128 Wide;  // positions never overflow here

// One problem unpacked into row-major doubles.
struct Unpacked {
    explicit Unpacked(const Problem &p) : shape(p.shape), options(p.options) {
        q = p.q.values(), k = p.k.values(), v = p.v.values();
        for (std::int64_t b = 0; b < shape.batch; b++)
            lengths.push_back(p.key_lengths.given() ? static_cast<std::int64_t>(p.key_lengths.get({b}))
                                                    : shape.seqlen_k);
        if (p.alibi_slopes.given()) slopes = p.alibi_slopes.values();
        bias = expand(p.bias), mask = expand(p.mask);
        scale = options.softmax_scale ? *options.softmax_scale : 1 / std::sqrt(static_cast<double>(shape.head_dim));
    }

    // Brings a bias or mask to [batch, heads, seqlen_q, seqlen_k]; empty when not given.
    std::vector<double> expand(const Tensor &tensor) const {
        if (!tensor.given()) return {};
        std::vector<double> all;
        const auto rank = tensor.shape().size();
        for (std::int64_t b = 0; b < shape.batch; b++)
            for (std::int64_t h = 0; h < shape.heads; h++)
                for (std::int64_t i = 0; i < shape.seqlen_q; i++)
                    for (std::int64_t j = 0; j < shape.seqlen_k; j++) {
                        std::vector<std::int64_t> index = {b, h, i, j};
                        index.erase(index.begin(), index.end() - static_cast<std::ptrdiff_t>(rank));
                        for (std::size_t axis = 0; axis < rank; axis++)
                            if (tensor.shape()[axis] == 1) index[axis] = 0;
                        all.push_back(tensor.get(index));
                    }
        return all;
    }

    Wide diagonal_key(std::int64_t b, std::int64_t i) const {
        if (options.diagonal) return static_cast<Wide>(i) + *options.diagonal;
        if (options.align == FLASHWRIGHT_ALIGN_BOTTOM_RIGHT)
            return static_cast<Wide>(i) + lengths[static_cast<std::size_t>(b)] - shape.seqlen_q;
        return i;
    }

    bool visible(std::int64_t b, std::int64_t i, std::int64_t j) const {
        const Wide diagonal = diagonal_key(b, i), key = j;
        if (j >= lengths[static_cast<std::size_t>(b)]) return false;
        if (options.causal && key > diagonal) return false;
        if (options.window_left >= 0 && key < diagonal - options.window_left) return false;
        if (options.window_right >= 0 && key > diagonal + options.window_right) return false;
        return true;
    }

    std::size_t pair(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
        return static_cast<std::size_t>(((b * shape.heads + h) * shape.seqlen_q + i) * shape.seqlen_k + j);
    }
    const double *row(const std::vector<double> &tensor, std::int64_t heads, std::int64_t rows, std::int64_t channels,
                      std::int64_t b, std::int64_t h, std::int64_t i) const {
        return tensor.data() + ((b * heads + h) * rows + i) * channels;
    }

    Shape shape;
    Options options;
    double scale;
    std::vector<double> q, k, v, bias, mask, slopes;
    std::vector<std::int64_t> lengths;
};

// The score of a pair; false when the key is hidden.
template <typename Real>
bool score_of(const Unpacked &u, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, Real *score,
              Real *derivative = nullptr) {
    const Shape &s = u.shape;
    if (!u.visible(b, i, j)) return false;
    if (!u.mask.empty() && u.mask[u.pair(b, h, i, j)] == 0) return false;
    const double bias = u.bias.empty() ? 0 : u.bias[u.pair(b, h, i, j)];
    if (bias == -std::numeric_limits<double>::infinity()) return false;
    const double *q = u.row(u.q, s.heads, s.seqlen_q, s.head_dim, b, h, i);
    const double *k = u.row(u.k, s.heads_kv, s.seqlen_k, s.head_dim, b, h / (s.heads / s.heads_kv), j);
    Real dot = 0;
    for (std::int64_t c = 0; c < s.head_dim; c++) dot += static_cast<Real>(q[c]) * k[c];
    dot *= static_cast<Real>(u.scale);
    if (derivative) *derivative = 1;
    if (u.options.softcap > 0) {
        const Real tanh = std::tanh(dot / static_cast<Real>(u.options.softcap));
        dot = static_cast<Real>(u.options.softcap) * tanh;
        if (derivative) *derivative = 1 - tanh * tanh;
    }
    if (!u.slopes.empty()) {
        const Wide distance = j - u.diagonal_key(b, i);
        dot -= static_cast<Real>(u.slopes[static_cast<std::size_t>(h)]) *
               static_cast<Real>(distance < 0 ? -distance : distance);
    }
    *score = dot + static_cast<Real>(bias);
    return true;
}

template <typename Real>
Exact forward(const Unpacked &u) {
    const Shape &s = u.shape;
    Exact exact;
    std::vector<Real> scores(static_cast<std::size_t>(s.seqlen_k)), sums(static_cast<std::size_t>(s.head_dim_v));
    std::vector<char> seen(scores.size());
    for (std::int64_t b = 0; b < s.batch; b++)
        for (std::int64_t h = 0; h < s.heads; h++)
            for (std::int64_t i = 0; i < s.seqlen_q; i++) {
                Real top = -std::numeric_limits<Real>::infinity(), total = 0;
                for (std::size_t j = 0; j < scores.size(); j++) {
                    seen[j] = score_of(u, b, h, i, static_cast<std::int64_t>(j), &scores[j]);
                    if (seen[j] && !(scores[j] <= top)) top = scores[j];  // takes a NaN too
                }
                std::fill(sums.begin(), sums.end(), Real(0));
                // A score of -infinity has weight 0, whatever the others are.
                const Real shift = top == -std::numeric_limits<Real>::infinity() ? 0 : top;
                for (std::size_t j = 0; j < scores.size(); j++) {
                    if (!seen[j]) continue;
                    const Real weight = std::exp(scores[j] - shift);
                    total += weight;
                    const double *v = u.row(u.v, s.heads_kv, s.seqlen_k, s.head_dim_v, b, h / (s.heads / s.heads_kv),
                                            static_cast<std::int64_t>(j));
                    for (std::size_t c = 0; c < sums.size(); c++) sums[c] += weight * v[c];
                }
                const bool any = total != 0;
                for (Real sum : sums) exact.out.push_back(any ? static_cast<double>(sum / total) : 0);
                exact.lse.push_back(any ? static_cast<double>(top + std::log(total))
                                        : -std::numeric_limits<double>::infinity());
            }
    return exact;
}

// Where the gradient of the bias of a pair goes.
std::size_t bias_index(const Problem &p, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    const std::vector<std::int64_t> &shape = p.bias.shape(), index = {b, h, i, j};
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < shape.size(); axis++)
        flat = flat * shape[axis] + (shape[axis] == 1 ? 0 : index[axis + 4 - shape.size()]);
    return static_cast<std::size_t>(flat);
}

// The largest finite magnitude.
double largest(const double *values, std::int64_t count) {
    double result = 0;
    for (std::int64_t n = 0; n < count; n++)
        if (std::isfinite(values[n])) result = std::max(result, std::fabs(values[n]));
    return result;
}

template <typename Real>
Real exactly(Real value) {
    return value;
}

// `rounded`: what becomes of each step; `out`: if given, where sum(dout * out) is from.
template <typename Real>
ExactGradient backward(const Problem &p, const Unpacked &u, const std::vector<double> &dout,
                       Real (*rounded)(Real) = exactly, const std::vector<double> *out = nullptr) {
    const Shape &s = u.shape;
    const auto size = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
        return static_cast<std::size_t>(a * b * c * d);
    };
    std::vector<Real> dq(size(s.batch, s.heads, s.seqlen_q, s.head_dim)),
        dk(size(s.batch, s.heads_kv, s.seqlen_k, s.head_dim)), dv(size(s.batch, s.heads_kv, s.seqlen_k, s.head_dim_v)),
        dbias(p.bias.given() ? static_cast<std::size_t>(p.bias.count()) : 0);
    std::vector<Real> weight(static_cast<std::size_t>(s.seqlen_k)), slope(weight.size()), dp(weight.size());
    std::vector<char> seen(weight.size());
    const auto row = [](std::vector<Real> &all, std::int64_t index, std::int64_t channels) {
        return all.data() + index * channels;
    };
    std::vector<Real> dp_unit(weight.size());
    std::vector<double> dq_units(size(s.batch, s.heads, s.seqlen_q, 1)),
        dk_units(size(s.batch, s.heads_kv, s.seqlen_k, 1)), dv_units(dk_units.size()), dbias_units(dbias.size());
    for (std::int64_t b = 0; b < s.batch; b++)
        for (std::int64_t h = 0; h < s.heads; h++)
            for (std::int64_t i = 0; i < s.seqlen_q; i++) {
                const std::int64_t hk = h / (s.heads / s.heads_kv), at = (b * s.heads + h) * s.seqlen_q + i;
                const double *g = dout.data() + at * s.head_dim_v,
                             *q = u.row(u.q, s.heads, s.seqlen_q, s.head_dim, b, h, i);
                Real top = -std::numeric_limits<Real>::infinity(), total = 0, delta = 0, delta_unit = 0;
                for (std::size_t j = 0; j < weight.size(); j++) {
                    seen[j] = score_of(u, b, h, i, static_cast<std::int64_t>(j), &weight[j], &slope[j]);
                    if (!seen[j]) continue;
                    weight[j] = rounded(weight[j]);
                    if (!(weight[j] <= top)) top = weight[j];
                }
                for (std::size_t j = 0; j < weight.size(); j++) {
                    if (!seen[j]) continue;
                    total += weight[j] = std::exp(weight[j] - top);
                    const double *v =
                        u.row(u.v, s.heads_kv, s.seqlen_k, s.head_dim_v, b, hk, static_cast<std::int64_t>(j));
                    dp[j] = dp_unit[j] = 0;
                    for (std::int64_t c = 0; c < s.head_dim_v; c++) {
                        const Real product = static_cast<Real>(g[c]) * v[c];
                        dp[j] += product, dp_unit[j] += std::fabs(product);
                    }
                    dp[j] = rounded(dp[j]);
                }
                for (std::size_t j = 0; j < weight.size(); j++) {
                    if (!seen[j]) continue;
                    weight[j] = rounded(weight[j] / total);
                    delta += weight[j] * dp[j], delta_unit += weight[j] * dp_unit[j];
                }
                if (out) {
                    delta = 0;
                    for (std::int64_t c = 0; c < s.head_dim_v; c++)
                        delta += static_cast<Real>(g[c]) * (*out)[static_cast<std::size_t>(at * s.head_dim_v + c)];
                }
                const double q_largest = largest(q, s.head_dim), g_largest = largest(g, s.head_dim_v);
                for (std::size_t j = 0; j < weight.size(); j++) {
                    if (!seen[j]) continue;
                    const std::int64_t key = (b * s.heads_kv + hk) * s.seqlen_k + static_cast<std::int64_t>(j);
                    const double *k =
                        u.row(u.k, s.heads_kv, s.seqlen_k, s.head_dim, b, hk, static_cast<std::int64_t>(j));
                    const Real dscore = rounded(weight[j] * (dp[j] - delta)),
                               ddot = rounded(dscore * slope[j]) * static_cast<Real>(u.scale);
                    const double dscore_unit = static_cast<double>(weight[j] * (dp_unit[j] + delta_unit)),
                                 ddot_unit = dscore_unit * std::fabs(static_cast<double>(slope[j]) * u.scale);
                    dq_units[static_cast<std::size_t>(at)] += ddot_unit * largest(k, s.head_dim);
                    dk_units[static_cast<std::size_t>(key)] += ddot_unit * q_largest;
                    dv_units[static_cast<std::size_t>(key)] += static_cast<double>(weight[j]) * g_largest;
                    if (!dbias.empty()) {
                        const std::size_t n = bias_index(p, b, h, i, static_cast<std::int64_t>(j));
                        dbias[n] += dscore, dbias_units[n] += dscore_unit;
                    }
                    for (std::int64_t c = 0; c < s.head_dim; c++) row(dq, at, s.head_dim)[c] += ddot * k[c];
                    for (std::int64_t c = 0; c < s.head_dim; c++) row(dk, key, s.head_dim)[c] += ddot * q[c];
                    for (std::int64_t c = 0; c < s.head_dim_v; c++) row(dv, key, s.head_dim_v)[c] += weight[j] * g[c];
                }
            }
    const auto doubles = [rounded](const std::vector<Real> &values) {
        std::vector<double> results;
        for (const Real value : values) results.push_back(static_cast<double>(rounded(value)));
        return results;
    };
    return {doubles(dq),
            doubles(dk),
            doubles(dv),
            doubles(dbias),
            largest(dq_units.data(), static_cast<std::int64_t>(dq_units.size())),
            largest(dk_units.data(), static_cast<std::int64_t>(dk_units.size())),
            largest(dv_units.data(), static_cast<std::int64_t>(dv_units.size())),
            largest(dbias_units.data(), static_cast<std::int64_t>(dbias_units.size()))};
}

}  // namespace

ExactGradient exact_backward(const Problem &problem, const std::vector<double> &dout) {
    const Unpacked unpacked(problem);
    return problem.dtype == FLASHWRIGHT_F64 ? backward<long double>(problem, unpacked, dout)
                                            : backward<double>(problem, unpacked, dout);
}

ExactGradient exact_backward_from_out(const Problem &problem, const std::vector<double> &dout) {
    const std::vector<double> out = problem.out.values();
    return backward<double>(problem, Unpacked(problem), dout, exactly, &out);
}

ExactGradient plain_backward(const Problem &problem, const std::vector<double> &dout) {
    return backward<double>(problem, Unpacked(problem), dout, rounded_to_half);
}

Exact exact_forward(const Problem &problem) {
    const Unpacked unpacked(problem);
    return problem.dtype == FLASHWRIGHT_F64 ? forward<long double>(unpacked) : forward<double>(unpacked);
}

std::vector<double> exact_scores(const Problem &problem) {
    const Unpacked u(problem);
    std::vector<double> scores;
    for (std::int64_t b = 0; b < u.shape.batch; b++)
        for (std::int64_t h = 0; h < u.shape.heads; h++)
            for (std::int64_t i = 0; i < u.shape.seqlen_q; i++)
                for (std::int64_t j = 0; j < u.shape.seqlen_k; j++) {
                    double score;
                    scores.push_back(score_of(u, b, h, i, j, &score) ? score
                                                                     : -std::numeric_limits<double>::infinity());
                }
    return scores;
}

}  // namespace flashwright::test
