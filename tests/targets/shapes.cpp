// Forward and backward over a table of small shapes against exact attention in double: for targets whose tests run
// nowhere else, so it wants no test library, threads or exceptions.
#include <flashwright/flashwright.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct Shape {
    std::int64_t heads, seqlen_q, seqlen_k, head_dim, head_dim_v;
    bool causal;
};

constexpr Shape kShapes[] = {
    {1, 1, 1, 1, 1, false},     {2, 7, 5, 3, 3, false},     {1, 16, 16, 8, 8, false},      {1, 12, 300, 16, 16, false},
    {2, 33, 65, 32, 32, false}, {1, 64, 64, 64, 64, true},  {1, 61, 61, 40, 24, true},     {1, 5, 130, 20, 36, true},
    {1, 130, 19, 24, 8, true},  {3, 48, 96, 59, 59, false}, {1, 100, 100, 128, 128, true},
};

// Numbers about -1 to 1, the same everywhere.
template <typename T>
std::vector<T> values(std::int64_t count, std::uint32_t seed) {
    std::vector<T> result(static_cast<std::size_t>(count));
    for (T &value : result) {
        seed = seed * 1664525U + 1013904223U;
        value = static_cast<T>(static_cast<double>(seed >> 8) / (1 << 23) - 1.0);
    }
    return result;
}

template <typename T>
struct Problem {
    explicit Problem(const Shape &s)
        : shape(s),
          q(values<T>(s.heads * s.seqlen_q * s.head_dim, 1)),
          k(values<T>(s.heads * s.seqlen_k * s.head_dim, 2)),
          v(values<T>(s.heads * s.seqlen_k * s.head_dim_v, 3)),
          dout(values<T>(s.heads * s.seqlen_q * s.head_dim_v, 4)),
          out(dout.size(), NAN),
          lse(static_cast<std::size_t>(s.heads * s.seqlen_q), NAN),
          dq(q.size(), NAN),
          dk(k.size(), NAN),
          dv(v.size(), NAN) {}

    Shape shape;
    std::vector<T> q, k, v, dout, out, lse, dq, dk, dv;
};

// The exact answers, in the same places.
struct Exact {
    std::vector<double> out, dq, dk, dv;
};

template <typename T>
Exact exact_attention(const Problem<T> &p) {
    const Shape &s = p.shape;
    Exact exact = {std::vector<double>(p.out.size()), std::vector<double>(p.q.size()), std::vector<double>(p.k.size()),
                   std::vector<double>(p.v.size())};
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
    std::vector<double> weights(static_cast<std::size_t>(s.seqlen_k));
    for (std::int64_t row = 0; row < s.heads * s.seqlen_q; ++row) {
        const std::int64_t first_key = row / s.seqlen_q * s.seqlen_k, i = row % s.seqlen_q;
        const std::int64_t keys = s.causal ? std::min(s.seqlen_k, i + 1) : s.seqlen_k;
        const T *q = &p.q[row * s.head_dim], *dout = &p.dout[row * s.head_dim_v];
        double sum = 0.0;
        for (std::int64_t j = 0; j < keys; ++j) {
            double score = 0.0;
            for (std::int64_t c = 0; c < s.head_dim; ++c) score += double{q[c]} * p.k[(first_key + j) * s.head_dim + c];
            weights[j] = std::exp(score * scale);
            sum += weights[j];
        }
        double delta = 0.0;
        for (std::int64_t c = 0; c < s.head_dim_v; ++c) {
            double &out = exact.out[row * s.head_dim_v + c];
            for (std::int64_t j = 0; j < keys; ++j) out += weights[j] / sum * p.v[(first_key + j) * s.head_dim_v + c];
            delta += out * dout[c];
        }
        for (std::int64_t j = 0; j < keys; ++j) {
            const std::int64_t key = first_key + j;
            const double weight = weights[j] / sum;
            double dp = 0.0;
            for (std::int64_t c = 0; c < s.head_dim_v; ++c) {
                dp += double{dout[c]} * p.v[key * s.head_dim_v + c];
                exact.dv[key * s.head_dim_v + c] += weight * dout[c];
            }
            const double ds = weight * (dp - delta) * scale;
            for (std::int64_t c = 0; c < s.head_dim; ++c) {
                exact.dq[row * s.head_dim + c] += ds * p.k[key * s.head_dim + c];
                exact.dk[key * s.head_dim + c] += ds * q[c];
            }
        }
    }
    return exact;
}

// The largest difference, relative to the largest value or 1; NaN if anything is.
template <typename T>
double difference(const std::vector<T> &got, const std::vector<double> &exact) {
    double largest = 0.0, scale = 1.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(got[i])) return NAN;
        largest = std::max(largest, std::fabs(got[i] - exact[i]));
        scale = std::max(scale, std::fabs(exact[i]));
    }
    return largest / scale;
}

template <typename T>
bool attend(const Shape &s, const char *dtype, double tolerance) {
    Problem<T> p(s);
    const flashwright::ConstTensorView q(p.q.data(), {s.heads, s.seqlen_q, s.head_dim});
    const flashwright::ConstTensorView k(p.k.data(), {s.heads, s.seqlen_k, s.head_dim});
    const flashwright::ConstTensorView v(p.v.data(), {s.heads, s.seqlen_k, s.head_dim_v});
    const flashwright::ConstTensorView dout(p.dout.data(), {s.heads, s.seqlen_q, s.head_dim_v});
    const flashwright::TensorView out(p.out.data(), {s.heads, s.seqlen_q, s.head_dim_v});
    const flashwright::TensorView lse(p.lse.data(), {s.heads, s.seqlen_q});
    const flashwright::Gradients gradients = {{p.dq.data(), {s.heads, s.seqlen_q, s.head_dim}},
                                              {p.dk.data(), {s.heads, s.seqlen_k, s.head_dim}},
                                              {p.dv.data(), {s.heads, s.seqlen_k, s.head_dim_v}},
                                              {}};
    flashwright::ScoreOptions options;
    options.causal = s.causal;
    flashwright::Status status = flashwright::forward(q, k, v, out, lse, options);
    if (status.ok()) status = flashwright::backward(q, k, v, out, lse, dout, gradients, options);
    const Exact exact = exact_attention(p);
    const double errors[] = {difference(p.out, exact.out), difference(p.dq, exact.dq), difference(p.dk, exact.dk),
                             difference(p.dv, exact.dv)};
    bool good = status.ok();
    for (const double error : errors) good = good && error <= tolerance;
    std::printf("%s %s %dx%dx%d, head_dim %d, %d%s: out %.1e, dq %.1e, dk %.1e, dv %.1e %s\n", good ? "ok" : "FAILED",
                dtype, static_cast<int>(s.heads), static_cast<int>(s.seqlen_q), static_cast<int>(s.seqlen_k),
                static_cast<int>(s.head_dim), static_cast<int>(s.head_dim_v), s.causal ? ", causal" : "", errors[0],
                errors[1], errors[2], errors[3], status.message());
    return good;
}

bool has_kernels_of(flashwright_dtype dtype) {
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        if (flashwright_kernel(i).dtype == dtype && std::strcmp(flashwright_kernel(i).op, "backward") == 0) return true;
    }
    return false;
}

}  // namespace

int main() {
    int failed = 0, run = 0;
    for (const Shape &shape : kShapes) {
        if (has_kernels_of(FLASHWRIGHT_F32)) {
            failed += attend<float>(shape, "f32", 1e-5) ? 0 : 1;
            ++run;
        }
        if (has_kernels_of(FLASHWRIGHT_F64)) {
            failed += attend<double>(shape, "f64", 1e-12) ? 0 : 1;
            ++run;
        }
    }
    std::printf("%d of %d failed, %s\n", failed, run, flashwright_isa(flashwright_isa_count() - 1).name);
    return failed == 0 && run > 0 ? 0 : 1;
}
