// Order statistics of repeated measurements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace flashwright {

// The value that the fraction `p` of the values lies below, interpolated between neighbours. `values` is not empty.
inline double quantile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const double position = p * static_cast<double>(values.size() - 1);
    const std::size_t below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

inline double median(const std::vector<double> &values) { return quantile(values, 0.5); }
inline double quarter(const std::vector<double> &values) { return quantile(values, 0.25); }
inline double three_quarters(const std::vector<double> &values) { return quantile(values, 0.75); }

inline double geometric_mean(const std::vector<double> &values) {
    double sum = 0;
    for (const double value : values) sum += std::log(value);
    return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace flashwright
