#include "reference_gradient.h"

#include "attention_error.h"
#include "kernels/dtype_dispatch.h"
#include "reference_score.h"

#include <algorithm>

namespace flashwright {
namespace {

// Row-major sums of one gradient, with the sums of magnitudes of each of its rows or elements.
template <typename Real>
struct GradientSums {
    GradientSums(const std::int64_t (&extents)[4], std::size_t unit_count)
        : shape{extents[0], extents[1], extents[2], extents[3]},
          values(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3])),
          units(unit_count) {}

    Real *row(std::size_t index) { return values.data() + index * static_cast<std::size_t>(shape[3]); }

    std::vector<double> result(Rounding rounding) const {
        std::vector<double> results;
        results.reserve(values.size());
        for (const Real value : values) results.push_back(static_cast<double>(rounded(rounding, value)));
        return results;
    }

    std::int64_t shape[4];
    std::vector<Real> values;
    std::vector<double> units;
};

template <typename Real>
GradientSums<Real> sums_like(const TensorRows &rows) {
    const std::int64_t shape[] = {rows.batches(), rows.heads(), rows.rows(), rows.channels()};
    return {shape, static_cast<std::size_t>(shape[0] * shape[1] * shape[2])};
}

// An axis of extent 1 takes the sum over the whole axis of the scores.
template <typename Real>
GradientSums<Real> bias_sums(const flashwright_tensor &dbias) {
    std::int64_t shape[4] = {};
    if (dbias.data != nullptr) {
        const TensorReader tensor(dbias);
        for (int axis = 0; axis < 4; ++axis) shape[axis] = tensor.extent(axis);
    }
    return {shape, static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3])};
}

// The largest finite magnitude of each row.
std::vector<double> largest_of_rows(const TensorRows &rows) {
    std::vector<double> largest(static_cast<std::size_t>(rows.batches() * rows.heads() * rows.rows()));
    const auto channels = static_cast<std::size_t>(rows.channels());
    for (std::size_t n = 0; n < rows.values().size(); ++n) {
        const double size = std::fabs(rows.values()[n]);
        if (std::isfinite(size)) largest[n / channels] = std::max(largest[n / channels], size);
    }
    return largest;
}

template <typename Real>
class Gradient {
 public:
    Gradient(const flashwright_backward_args &args, Rounding rounding, bool delta_from_out)
        : score_(args.q, args.k, args.score),
          v_(args.v),
          dout_(args.dout),
          rounding_(rounding),
          dq_(sums_like<Real>(score_.q())),
          dk_(sums_like<Real>(score_.k())),
          dv_(sums_like<Real>(v_)),
          dbias_(bias_sums<Real>(args.dbias)),
          q_largest_(largest_of_rows(score_.q())),
          k_largest_(largest_of_rows(score_.k())),
          dout_largest_(largest_of_rows(dout_)) {
        if (delta_from_out) out_.emplace(args.out);
    }

    ReferenceGradient compute() {
        for (std::int64_t batch = 0; batch < dout_.batches(); ++batch)
            for (std::int64_t head = 0; head < dout_.heads(); ++head)
                for (std::int64_t i = 0; i < dout_.rows(); ++i) add_query(batch, head, i);
        return {dq_.result(rounding_),     dk_.result(rounding_),       dv_.result(rounding_),
                dbias_.result(rounding_),  largest_finite(dq_.units),   largest_finite(dk_.units),
                largest_finite(dv_.units), largest_finite(dbias_.units)};
    }

 private:
    // dP = dout * v of a key, and the sum of the magnitudes of its terms.
    struct ProbabilityGradient {
        Real value, unit;
    };

    ReferenceScore<Real> score_;
    TensorRows v_, dout_;
    std::optional<TensorRows> out_;
    Rounding rounding_;
    GradientSums<Real> dq_, dk_, dv_, dbias_;
    std::vector<double> q_largest_, k_largest_, dout_largest_;
    SoftmaxRow<Real> row_;
    std::vector<ProbabilityGradient> dp_;

    void add_query(std::int64_t batch, std::int64_t head, std::int64_t i) {
        score_.softmax(batch, head, i, rounding_, row_);
        const std::int64_t head_kv = score_.head_kv(head);
        const std::size_t query = dout_.index(batch, head, i);
        dp_.clear();
        Real delta = 0, delta_unit = 0;
        for (const UnmaskedKey<Real> &key : row_.keys) {
            dp_.push_back(product(dout_.row(batch, head, i), v_.row(batch, head_kv, key.key)));
            dp_.back().value = rounded(rounding_, dp_.back().value);
            delta += key.probability * dp_.back().value;
            delta_unit += key.probability * dp_.back().unit;
        }
        if (out_) delta = product(dout_.row(batch, head, i), out_->row(batch, head, i)).value;
        for (std::size_t n = 0; n < row_.keys.size(); ++n) {
            const UnmaskedKey<Real> &key = row_.keys[n];
            const std::size_t at = v_.index(batch, head_kv, key.key);
            const Real dscore = rounded(rounding_, key.probability * (dp_[n].value - delta));
            const auto dscore_unit = static_cast<double>(key.probability * (dp_[n].unit + delta_unit));
            add_pair(query, at, score_.q().row(batch, head, i), score_.k().row(batch, head_kv, key.key),
                     rounded(rounding_, dscore * key.derivative) * static_cast<Real>(score_.scale()),
                     dscore_unit * std::fabs(static_cast<double>(key.derivative) * score_.scale()));
            add_value(query, at, dout_.row(batch, head, i), key.probability);
            if (!dbias_.values.empty()) add_bias(bias_index(batch, head, i, key.key), dscore, dscore_unit);
        }
    }

    ProbabilityGradient product(const double *a, const double *b) const {
        ProbabilityGradient sum = {0, 0};
        for (std::int64_t c = 0; c < dout_.channels(); ++c) {
            const Real term = static_cast<Real>(a[c]) * static_cast<Real>(b[c]);
            sum.value += term;
            sum.unit += std::fabs(term);
        }
        return sum;
    }

    // ddot: the gradient by the dot product of a query and a key.
    void add_pair(std::size_t query, std::size_t key, const double *q, const double *k, Real ddot, double ddot_unit) {
        Real *dq = dq_.row(query), *dk = dk_.row(key);
        for (std::int64_t c = 0; c < dq_.shape[3]; ++c) {
            dq[c] += ddot * static_cast<Real>(k[c]);
            dk[c] += ddot * static_cast<Real>(q[c]);
        }
        dq_.units[query] += ddot_unit * k_largest_[key];
        dk_.units[key] += ddot_unit * q_largest_[query];
    }

    void add_value(std::size_t query, std::size_t key, const double *dout, Real probability) {
        Real *dv = dv_.row(key);
        for (std::int64_t c = 0; c < dv_.shape[3]; ++c) dv[c] += probability * static_cast<Real>(dout[c]);
        dv_.units[key] += static_cast<double>(probability) * dout_largest_[query];
    }

    void add_bias(std::size_t index, Real dscore, double dscore_unit) {
        dbias_.values[index] += dscore;
        dbias_.units[index] += dscore_unit;
    }

    std::size_t bias_index(std::int64_t batch, std::int64_t head, std::int64_t i, std::int64_t j) const {
        const std::int64_t position[] = {batch, head, i, j};
        std::int64_t index = 0;
        for (int axis = 0; axis < 4; ++axis)
            index = index * dbias_.shape[axis] + (dbias_.shape[axis] == 1 ? 0 : position[axis]);
        return static_cast<std::size_t>(index);
    }
};

}  // namespace

template <typename Real>
ReferenceGradient reference_gradient(const flashwright_backward_args &args) {
    return Gradient<Real>(args, nullptr, false).compute();
}
template ReferenceGradient reference_gradient<double>(const flashwright_backward_args &);
template ReferenceGradient reference_gradient<long double>(const flashwright_backward_args &);

ReferenceGradient reference_gradient_from_out(const flashwright_backward_args &args) {
    return Gradient<double>(args, nullptr, true).compute();
}

ReferenceGradient expected_gradient(const flashwright_backward_args &args) {
    return rounds(args.out.dtype) ? reference_gradient_from_out(args) : reference_gradient(args);
}

ReferenceGradient plain_gradient(const flashwright_backward_args &args, double (*rounding)(double)) {
    return Gradient<double>(args, rounding, false).compute();
}

}  // namespace flashwright
