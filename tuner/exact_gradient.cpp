#include "exact_gradient.h"

#include "attention_error.h"
#include "contiguous_tensor.h"
#include "exact_score.h"

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
    }

    ExactGradient compute() {
        for (std::int64_t batch = 0; batch < q_.shape[0]; ++batch) {
            for (std::int64_t head = 0; head < q_.shape[1]; ++head) {
                for (std::int64_t i = 0; i < q_.shape[2]; ++i) {
                    add_row(batch, head, i);
                }
            }
        }
        return std::move(result_);
    }

 private:
    struct Pair {
        std::int64_t key;
        double probability, slope, dprobability;
    };

    StridedView<T> q_, k_, v_, dout_;
    ExactScore<T> score_;
    std::optional<StridedView<T>> dbias_;
    ExactGradient result_;

    // The keys that the row sees.
    std::vector<Pair> pairs_of(std::int64_t batch, std::int64_t head, std::int64_t head_kv, std::int64_t i) const {
        std::vector<Pair> pairs;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t j = 0; j < k_.shape[2]; ++j) {
            double slope = 1;
            if (const auto score = score_(batch, head, i, j, &slope)) {
                pairs.push_back({j, *score, slope, 0});
                largest = std::max(largest, *score);
            }
        }
        for (Pair &pair : pairs) {
            pair.probability = std::exp(pair.probability - largest);
            sum += pair.probability;
            for (std::int64_t c = 0; c < v_.shape[3]; ++c) {
                pair.dprobability += static_cast<double>(dout_(batch, head, i, c)) *
                                     static_cast<double>(v_(batch, head_kv, pair.key, c));
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
        double delta = 0;
        for (const Pair &pair : pairs) {
            delta += pair.probability * pair.dprobability;
        }
        double *dq = row(result_.dq, q_, batch, head, i);
        for (const Pair &pair : pairs) {
            double *dk = row(result_.dk, k_, batch, head_kv, pair.key),
                   *dv = row(result_.dv, v_, batch, head_kv, pair.key);
            const double dscore = pair.probability * (pair.dprobability - delta);
            const double ddot = dscore * pair.slope * score_.scale();
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
            }
        }
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
    double unit = 0;
    for (const auto *values : {&exact.dq, &exact.dk, &exact.dv, &exact.dbias}) {
        unit = std::max(unit, largest_finite(*values));
    }
    GradientError error;
    const auto add = [&](const char *name, const std::vector<double> &values, const flashwright_tensor &tensor) {
        const double difference = tensor.dtype == FLASHWRIGHT_F64 ? largest_difference<double>(values, tensor)
                                                                  : largest_difference<float>(values, tensor);
        error.gradients.emplace_back(name, difference / (unit > 0 ? unit : 1));
    };
    add("dq", exact.dq, args.dq);
    add("dk", exact.dk, args.dk);
    add("dv", exact.dv, args.dv);
    if (args.dbias.data != nullptr) {
        add("dbias", exact.dbias, args.dbias);
    }
    return error;
}

double gradient_tolerance(flashwright_dtype dtype) { return dtype == FLASHWRIGHT_F64 ? 1e-9 : 4e-5; }

}  // namespace flashwright
