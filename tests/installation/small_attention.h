// One head of attention, checked against its definition.
#pragma once

#include <flashwright/flashwright.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

struct SmallAttention {
    static constexpr std::int64_t kRows = 256, kKeys = 256, kChannels = 16;  // enough for several threads
    std::vector<float> q = wave(kRows, 0.7), k = wave(kKeys, 1.3), v = wave(kKeys, 2.1), out = wave(kRows, 0.0);

    flashwright::ConstTensorView query() const { return {q.data(), {kRows, kChannels}}; }
    flashwright::ConstTensorView key() const { return {k.data(), {kKeys, kChannels}}; }
    flashwright::ConstTensorView value() const { return {v.data(), {kKeys, kChannels}}; }
    flashwright::TensorView output() { return {out.data(), {kRows, kChannels}}; }

    double largest_error() const {
        double largest = 0.0;
        for (std::int64_t i = 0; i < kRows; ++i) {
            std::vector<double> weights(kKeys);
            double sum = 0.0;
            for (std::int64_t j = 0; j < kKeys; ++j) {
                double score = 0.0;
                for (std::int64_t c = 0; c < kChannels; ++c)
                    score += double{q[i * kChannels + c]} * k[j * kChannels + c];
                sum += weights[j] = std::exp(score / std::sqrt(double{kChannels}));
            }
            for (std::int64_t c = 0; c < kChannels; ++c) {
                double exact = 0.0;
                for (std::int64_t j = 0; j < kKeys; ++j) exact += weights[j] / sum * v[j * kChannels + c];
                largest = std::fmax(largest, std::fabs(exact - out[i * kChannels + c]));
                if (std::isnan(out[i * kChannels + c])) return NAN;
            }
        }
        return largest;
    }

 private:
    static std::vector<float> wave(std::int64_t rows, double step) {
        std::vector<float> values(rows * kChannels);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
        return values;
    }
};
