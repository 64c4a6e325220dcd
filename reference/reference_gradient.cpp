#include "reference_gradient.h"

#include "attention_error.h"
#include "contiguous_tensor.h"
#include "reference_score.h"

#include <algorithm>

namespace flashwright {
namespace {

template <typename T>
class Gradient {
 public:
    explicit Gradient(const flashwright_backward_args &args)
        : q_(args.q), k_(args.k), v_(args.v), dout_(args.dout), score_(args.q, args.k, args.score) {
        result_.dq.resize(element_count(args.q));
        result_.dk.resize(element_count(args.k));
        result_.dv.resize(element_count(args.v));
        if (args.dbias.data != nullptr) {
            dbias_.emplace(args.dbias);
            result_.dbias.resize(element_count(args.dbias));
        }
        const auto keys = static_cast<std::size_t>(k_.shape[0] * k_.shape[1] * k_.shape[2]);
        dk_sizes_.resize(keys);
        dv_sizes_.resize(keys);
        dbias_sizes_.resize(result_.dbias.size());
    }

    ExactGradient compute() {
        for (std::int64_t batch = 0; batch < q_.shape[0]; ++batch) {
            for (std::int64_t head = 0; head < q_.shape[1]; ++head) {
                for (std::int64_t i = 0; i < q_.shape[2]; ++i) {
                    add_row(batch, head, i);
                }
            }
        }
        result_.dk_size = largest_finite(dk_sizes_);
        result_.dv_size = largest_finite(dv_sizes_);
        result_.dbias_size = largest_finite(dbias_sizes_);
        return std::move(result_);
    }

 private:
    struct Pair {
        std::int64_t key;
        double probability, slope, dprobability, dprobability_size;
    };

    StridedView<T> q_, k_, v_, dout_;
    ExactScore<T> score_;
    std::optional<StridedView<T>> dbias_;
    ExactGradient result_;
    std::vector<double> dk_sizes_, dv_sizes_;  // of each key
    std::vector<double> dbias_sizes_;          // of each element

    // The keys that the row sees.
    std::vector<Pair> pairs_of(std::int64_t batch, std::int64_t head, std::int64_t head_kv, std::int64_t i) const {
        std::vector<Pair> pairs;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t j = 0; j < k_.shape[2]; ++j) {
            double slope = 1;
            if (const auto score = score_(batch, head, i, j, &slope)) {
                pairs.push_back({j, *score, slope, 0, 0});
                largest = std::max(largest, *score);
            }
        }
        for (Pair &pair : pairs) {
            pair.probability = std::exp(pair.probability - largest);
            sum += pair.probability;
            for (std::int64_t c = 0; c < v_.shape[3]; ++c) {
                const double product = static_cast<double>(dout_(batch, head, i, c)) *
                                       static_cast<double>(v_(batch, head_kv, pair.key, c));
                pair.dprobability += product;
                pair.dprobability_size += std::fabs(product);
            }
        }
        for (Pair &pair : pairs) {
            pair.probability /= sum;
        }
        return pairs;
    }

    void add_row(std::int64_t batch, std::int64_t head, std::int64_t i) {
        const std::int64_t head_kv = head / (q_.shape[1] / k_.shape[1]);
        const std::vector<Pair> pairs = pairs_of(batch, head, head_kv, i);
        double delta = 0, delta_size = 0, dq_size = 0;
        for (const Pair &pair : pairs) {
            delta += pair.probability * pair.dprobability;
            delta_size += pair.probability * pair.dprobability_size;
        }
        const double q_size = largest_of_row(q_, batch, head, i), dout_size = largest_of_row(dout_, batch, head, i);
        double *dq = row(result_.dq, q_, batch, head, i);
        for (const Pair &pair : pairs) {
            double *dk = row(result_.dk, k_, batch, head_kv, pair.key),
                   *dv = row(result_.dv, v_, batch, head_kv, pair.key);
            const double dscore = pair.probability * (pair.dprobability - delta);
            const double ddot = dscore * pair.slope * score_.scale();
            const double dscore_size = pair.probability * (pair.dprobability_size + delta_size);
            const double ddot_size = dscore_size * std::fabs(pair.slope * score_.scale());
            const auto key = static_cast<std::size_t>((batch * k_.shape[1] + head_kv) * k_.shape[2] + pair.key);
            dq_size += ddot_size * largest_of_row(k_, batch, head_kv, pair.key);
            dk_sizes_[key] += ddot_size * q_size;
            dv_sizes_[key] += pair.probability * dout_size;
            for (std::int64_t c = 0; c < q_.shape[3]; ++c) {
                dq[c] += ddot * static_cast<double>(k_(batch, head_kv, pair.key, c));
                dk[c] += ddot * static_cast<double>(q_(batch, head, i, c));
            }
            for (std::int64_t c = 0; c < v_.shape[3]; ++c) {
                dv[c] += pair.probability * static_cast<double>(dout_(batch, head, i, c));
            }
            if (dbias_) {
                const auto at = [&](int axis, std::int64_t index) { return dbias_->shape[axis] == 1 ? 0 : index; };
                row(result_.dbias, *dbias_, at(0, batch), at(1, head), at(2, i))[pair.key] += dscore;
                row(dbias_sizes_, *dbias_, at(0, batch), at(1, head), at(2, i))[pair.key] += dscore_size;
            }
        }
        if (std::isfinite(dq_size)) result_.dq_size = std::max(result_.dq_size, dq_size);
    }

    static double largest_of_row(const StridedView<T> &view, std::int64_t batch, std::int64_t head, std::int64_t i) {
        double largest = 0;
        for (std::int64_t c = 0; c < view.shape[3]; ++c) {
            const double size = std::fabs(static_cast<double>(view(batch, head, i, c)));
            if (std::isfinite(size)) largest = std::max(largest, size);
        }
        return largest;
    }

    static double *row(std::vector<double> &values, const StridedView<T> &like, std::int64_t batch, std::int64_t head,
                       std::int64_t i) {
        return values.data() + ((batch * like.shape[1] + head) * like.shape[2] + i) * like.shape[3];
    }
};

template <typename T>
double largest_difference(const std::vector<double> &exact, const flashwright_tensor &tensor) {
    const StridedView<T> actual(tensor);
    double largest = 0;
    std::size_t element = 0;
    for (std::int64_t batch = 0; batch < actual.shape[0]; ++batch) {
        for (std::int64_t head = 0; head < actual.shape[1]; ++head) {
            for (std::int64_t i = 0; i < actual.shape[2]; ++i) {
                for (std::int64_t c = 0; c < actual.shape[3]; ++c, ++element) {
                    largest = std::max(largest, difference(exact[element], actual(batch, head, i, c)));
                }
            }
        }
    }
    return largest;
}

}  // namespace

ExactGradient exact_gradient(const flashwright_backward_args &args) {
    return args.q.dtype == FLASHWRIGHT_F64 ? Gradient<double>(args).compute() : Gradient<float>(args).compute();
}

GradientError gradient_error(const ExactGradient &exact, const flashwright_backward_args &args) {
    GradientError error;
    const auto add = [&](const char *name, const std::vector<double> &values, double size,
                         const flashwright_tensor &tensor) {
        const double difference = tensor.dtype == FLASHWRIGHT_F64 ? largest_difference<double>(values, tensor)
                                                                  : largest_difference<float>(values, tensor);
        error.gradients.emplace_back(name, difference / (size > 0 ? size : 1));
    };
    add("dq", exact.dq, exact.dq_size, args.dq);
    add("dk", exact.dk, exact.dk_size, args.dk);
    add("dv", exact.dv, exact.dv_size, args.dv);
    if (args.dbias.data != nullptr) {
        add("dbias", exact.dbias, exact.dbias_size, args.dbias);
    }
    return error;
}

double gradient_tolerance(flashwright_dtype dtype) { return dtype == FLASHWRIGHT_F64 ? 1e-9 : 4e-5; }

}  // namespace flashwright
