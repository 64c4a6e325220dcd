// Trains a small transformer-like regression with flashwright's forward and backward: out = X + attention(X Wq, X Wk, X
// Wv) Wo is fitted, by gradient descent, to a teacher of the same form. Beside it the same training runs on exact
// attention in double, from the same start. Prints both losses; fails if they drift apart or the loss does not fall.
#include "flashwright/flashwright.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int kBatch = 4, kTokens = 24, kWidth = 16, kRows = kBatch * kTokens;
constexpr int kSteps = 300;
constexpr double kLearningRate = 0.1;
constexpr double kTolerance = 1e-5;  // between the two losses, relative to the larger

template <typename T>
using Matrix = std::vector<T>;  // row-major, kRows x kWidth or kWidth x kWidth

// c = a b, c = a^T b and c = a b^T for a with `rows` rows.
template <typename T>
Matrix<T> product(const Matrix<T> &a, const Matrix<T> &b) {
    Matrix<T> c(a.size());
    for (std::size_t i = 0; i < a.size() / kWidth; ++i)
        for (std::size_t k = 0; k < kWidth; ++k)
            for (std::size_t j = 0; j < kWidth; ++j) c[i * kWidth + j] += a[i * kWidth + k] * b[k * kWidth + j];
    return c;
}
template <typename T>
Matrix<T> transposed_product(const Matrix<T> &a, const Matrix<T> &b) {
    Matrix<T> c(kWidth * kWidth);
    for (std::size_t i = 0; i < a.size() / kWidth; ++i)
        for (std::size_t k = 0; k < kWidth; ++k)
            for (std::size_t j = 0; j < kWidth; ++j) c[k * kWidth + j] += a[i * kWidth + k] * b[i * kWidth + j];
    return c;
}
template <typename T>
Matrix<T> product_transposed(const Matrix<T> &a, const Matrix<T> &b) {
    Matrix<T> c(a.size());
    for (std::size_t i = 0; i < a.size() / kWidth; ++i)
        for (std::size_t j = 0; j < kWidth; ++j)
            for (std::size_t k = 0; k < kWidth; ++k) c[i * kWidth + j] += a[i * kWidth + k] * b[j * kWidth + k];
    return c;
}

// Causal attention over the batch, and its gradients.
template <typename T>
struct Attention {
    Matrix<T> q, k, v, out, lse;
    virtual ~Attention() = default;
    virtual void forward() = 0;
    virtual void backward(const Matrix<T> &dout, Matrix<T> &dq, Matrix<T> &dk, Matrix<T> &dv) = 0;
};

struct OurAttention : Attention<float> {
    // [batch, head, token, channel]
    static flashwright::ConstTensorView view(const Matrix<float> &m) {
        return {m.data(), {kBatch, 1, kTokens, kWidth}};
    }
    static flashwright::TensorView target(Matrix<float> &m) {
        m.resize(kRows * kWidth);
        return {m.data(), {kBatch, 1, kTokens, kWidth}};
    }
    static void check(const flashwright::Status &status) {
        if (status.ok()) return;
        std::fprintf(stderr, "error: %s\n", status.message());
        std::exit(1);
    }
    OurAttention() { options.causal = true; }

    void forward() override {
        lse.resize(kRows);
        check(
            flashwright::forward(view(q), view(k), view(v), target(out), {lse.data(), {kBatch, 1, kTokens}}, options));
    }
    void backward(const Matrix<float> &dout, Matrix<float> &dq, Matrix<float> &dk, Matrix<float> &dv) override {
        check(flashwright::backward(view(q), view(k), view(v), view(out), {lse.data(), {kBatch, 1, kTokens}},
                                    view(dout), {target(dq), target(dk), target(dv), {}}, options));
    }

    flashwright::ScoreOptions options;
};

// By the definition, keeping every probability.
struct ExactAttention : Attention<double> {
    Matrix<double> probabilities;  // [batch, token, token]

    static std::size_t at(int batch, int token) { return static_cast<std::size_t>(batch * kTokens + token) * kWidth; }
    double &probability(int batch, int i, int j) {
        return probabilities[static_cast<std::size_t>((batch * kTokens + i) * kTokens + j)];
    }
    static double dot(const double *a, const double *b) {
        double sum = 0;
        for (int c = 0; c < kWidth; ++c) sum += a[c] * b[c];
        return sum;
    }

    void forward() override {
        probabilities.assign(kRows * kTokens, 0);
        out.assign(kRows * kWidth, 0);
        for (int b = 0; b < kBatch; ++b) {
            for (int i = 0; i < kTokens; ++i) {
                double sum = 0;
                for (int j = 0; j <= i; ++j) {
                    sum += probability(b, i, j) = std::exp(dot(&q[at(b, i)], &k[at(b, j)]) / std::sqrt(kWidth));
                }
                for (int j = 0; j <= i; ++j) {
                    probability(b, i, j) /= sum;
                    for (int c = 0; c < kWidth; ++c) out[at(b, i) + c] += probability(b, i, j) * v[at(b, j) + c];
                }
            }
        }
    }
    void backward(const Matrix<double> &dout, Matrix<double> &dq, Matrix<double> &dk, Matrix<double> &dv) override {
        for (Matrix<double> *gradient : {&dq, &dk, &dv}) gradient->assign(kRows * kWidth, 0);
        for (int b = 0; b < kBatch; ++b) {
            for (int i = 0; i < kTokens; ++i) {
                const double delta = dot(&dout[at(b, i)], &out[at(b, i)]);
                for (int j = 0; j <= i; ++j) {
                    const double p = probability(b, i, j);
                    const double ds = p * (dot(&dout[at(b, i)], &v[at(b, j)]) - delta) / std::sqrt(kWidth);
                    for (int c = 0; c < kWidth; ++c) {
                        dq[at(b, i) + c] += ds * k[at(b, j) + c];
                        dk[at(b, j) + c] += ds * q[at(b, i) + c];
                        dv[at(b, j) + c] += p * dout[at(b, i) + c];
                    }
                }
            }
        }
    }
};

struct Weights {
    Matrix<double> q, k, v, out;
};

template <typename T>
class Model {
 public:
    Model(const Weights &start, Attention<T> &attention) : attention_(attention) {
        for (const Matrix<double> *m : {&start.q, &start.k, &start.v, &start.out})
            weights_.emplace_back(m->begin(), m->end());
    }

    Matrix<T> predict(const Matrix<T> &x) {
        attention_.q = product(x, weights_[0]);
        attention_.k = product(x, weights_[1]);
        attention_.v = product(x, weights_[2]);
        attention_.forward();
        Matrix<T> y = product(attention_.out, weights_[3]);
        for (std::size_t n = 0; n < y.size(); ++n) y[n] += x[n];
        return y;
    }

    // One step of gradient descent; returns the mean squared error before it.
    double train(const Matrix<T> &x, const Matrix<T> &target) {
        Matrix<T> error = predict(x);
        double loss = 0;
        for (std::size_t n = 0; n < error.size(); ++n) {
            error[n] -= target[n];
            loss += static_cast<double>(error[n]) * static_cast<double>(error[n]);
            error[n] *= static_cast<T>(2.0 / (kRows * kWidth));
        }
        Matrix<T> dq, dk, dv;
        attention_.backward(product_transposed(error, weights_[3]), dq, dk, dv);
        descend(weights_[3], transposed_product(attention_.out, error));
        descend(weights_[0], transposed_product(x, dq));
        descend(weights_[1], transposed_product(x, dk));
        descend(weights_[2], transposed_product(x, dv));
        return loss / (kRows * kWidth);
    }

 private:
    static void descend(Matrix<T> &weights, const Matrix<T> &gradient) {
        for (std::size_t n = 0; n < weights.size(); ++n) weights[n] -= static_cast<T>(kLearningRate) * gradient[n];
    }

    Attention<T> &attention_;
    std::vector<Matrix<T>> weights_;
};

Matrix<double> random_matrix(std::mt19937 &random, int rows, double scale) {
    Matrix<double> m(static_cast<std::size_t>(rows * kWidth));
    // Sums of raw draws: the same numbers with every standard library.
    for (double &value : m) {
        double sum = -6;
        for (int n = 0; n < 12; ++n) sum += static_cast<double>(random()) / 4294967296.0;
        value = scale * static_cast<double>(static_cast<float>(sum));
    }
    return m;
}

Weights random_weights(std::mt19937 &random, double scale) {
    Weights weights;
    for (Matrix<double> *m : {&weights.q, &weights.k, &weights.v, &weights.out})
        *m = random_matrix(random, kWidth, scale);
    return weights;
}

}  // namespace

int main() {
    std::mt19937 random(1);
    const Matrix<double> x = random_matrix(random, kRows, 1);
    const Weights teacher = random_weights(random, 0.4), start = random_weights(random, 0.25);
    ExactAttention teacher_attention, exact_attention;
    OurAttention our_attention;
    const Matrix<double> target = Model<double>(teacher, teacher_attention).predict(x);
    Model<double> exact(start, exact_attention);
    Model<float> ours(start, our_attention);
    const Matrix<float> x32(x.begin(), x.end()), target32(target.begin(), target.end());

    double first = 0, last = 0, worst = 0;
    for (int step = 0; step < kSteps; ++step) {
        const double expected = exact.train(x, target);
        last = ours.train(x32, target32);
        if (step == 0) first = last;
        worst = std::fmax(worst, std::fabs(last - expected) / std::fmax(last, expected));
        if (step % 50 == 0 || step == kSteps - 1)
            std::printf("step %3d: loss %.6f, exact %.6f\n", step, last, expected);
    }
    std::printf("loss fell from %.4f to %.4f; largest difference of the two %.1e\n", first, last, worst);
    if (!(last < 0.5 * first) || !(worst <= kTolerance)) {
        std::fprintf(stderr, "error: expected half the loss, and a difference of at most %g\n", kTolerance);
        return 1;
    }
}
