#include "layers.h"

#include <algorithm>
#include <cmath>

namespace {

// Sums kept at once: 4 rows by 8 outputs fill half the registers of any x86-64, and leave loads two uses a vector.
constexpr std::size_t kRows = 4, kPanel = 8;

// sums[r][o] = Σ x[r][i] panel[i][o] for Rows rows.
template <std::size_t Rows>
void multiply(const float *x, std::size_t inputs, const float *panel, float (&sums)[kRows][kPanel]) {
    float local[Rows][kPanel] = {};
    for (std::size_t i = 0; i < inputs; ++i)
        for (std::size_t r = 0; r < Rows; ++r)
            for (std::size_t o = 0; o < kPanel; ++o) local[r][o] += x[r * inputs + i] * panel[i * kPanel + o];
    for (std::size_t r = 0; r < Rows; ++r) std::copy_n(local[r], kPanel, sums[r]);
}

}  // namespace

Linear::Linear(const std::vector<float> &weights, std::vector<float> bias)
    : inputs_(weights.size() / bias.size()), bias_(std::move(bias)) {
    const std::size_t panels = (outputs() + kPanel - 1) / kPanel;
    panels_.resize(panels * inputs_ * kPanel);
    for (std::size_t o = 0; o < outputs(); ++o)
        for (std::size_t i = 0; i < inputs_; ++i)
            panels_[(o / kPanel * inputs_ + i) * kPanel + o % kPanel] = weights[o * inputs_ + i];
}

void Linear::operator()(const float *x, std::size_t rows, float *y) const {
    for (std::size_t o = 0; o < outputs(); o += kPanel) {
        const float *panel = panels_.data() + o * inputs_;
        const std::size_t width = std::min(kPanel, outputs() - o);
        for (std::size_t row = 0; row < rows; row += kRows) {
            float sums[kRows][kPanel];
            const std::size_t height = std::min(kRows, rows - row);
            if (height == kRows) {
                multiply<kRows>(x + row * inputs_, inputs_, panel, sums);
            } else {
                for (std::size_t r = 0; r < height; ++r) {
                    float one[kRows][kPanel];
                    multiply<1>(x + (row + r) * inputs_, inputs_, panel, one);
                    std::copy_n(one[0], kPanel, sums[r]);
                }
            }
            for (std::size_t r = 0; r < height; ++r)
                for (std::size_t j = 0; j < width; ++j) y[(row + r) * outputs() + o + j] = sums[r][j] + bias_[o + j];
        }
    }
}

void LayerNorm::operator()(float *x, std::size_t rows) const {
    const std::size_t width = weight.size();
    for (float *row = x; row < x + rows * width; row += width) {
        float mean = 0, variance = 0;
        for (std::size_t c = 0; c < width; ++c) mean += row[c];
        mean /= static_cast<float>(width);
        for (std::size_t c = 0; c < width; ++c) variance += (row[c] - mean) * (row[c] - mean);
        const float factor = 1 / std::sqrt(variance / static_cast<float>(width) + epsilon);
        for (std::size_t c = 0; c < width; ++c) row[c] = (row[c] - mean) * factor * weight[c] + bias[c];
    }
}

void gelu(std::vector<float> &x) {
    for (float &value : x) value *= 0.5f * (1 + std::erf(value * 0.70710678f));
}
