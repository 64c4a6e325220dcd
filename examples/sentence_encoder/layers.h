// What a transformer layer has besides attention, in plain loops. Matrices are row-major.
#pragma once

#include <cstddef>
#include <vector>

// y = x Wᵀ + b.
class Linear {
 public:
    // weights [outputs, inputs], bias [outputs].
    Linear(const std::vector<float> &weights, std::vector<float> bias);

    // x [rows, inputs] to y [rows, outputs].
    void operator()(const float *x, std::size_t rows, float *y) const;

    std::size_t outputs() const { return bias_.size(); }

 private:
    std::size_t inputs_;
    std::vector<float> bias_;
    std::vector<float> panels_;  // [outputs / kPanel, inputs, kPanel]: read in order, kPanel outputs at once
};

// Each row, in place, to mean 0 and variance 1, then scaled and shifted.
struct LayerNorm {
    std::vector<float> weight, bias;
    float epsilon;

    void operator()(float *x, std::size_t rows) const;
};

// x Φ(x) in place, Φ the normal distribution.
void gelu(std::vector<float> &x);
