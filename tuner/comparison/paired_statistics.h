// Statistics of paired differences, here logarithms of time ratios.
#pragma once

#include <vector>

namespace flashwright {

struct Interval {
    double low, high;
};

// Two-sided p-value of the Wilcoxon signed-rank test that the differences are symmetric about 0. Exact up to 50
// differences without ties or zeros, else by the normal approximation with corrections for ties and continuity. 1 if
// all are zero.
double wilcoxon_p(const std::vector<double> &differences);

// The median of all means of two differences (each with itself too): the Hodges-Lehmann estimate, and the interval that
// belongs to the Wilcoxon test at 95 %.
double hodges_lehmann(const std::vector<double> &differences);
Interval hodges_lehmann_interval(const std::vector<double> &differences);

// 95 % interval of the median, by order statistics.
Interval median_interval(std::vector<double> values);

// p-values adjusted for their number (Holm), in the order given.
std::vector<double> holm(const std::vector<double> &p_values);

}  // namespace flashwright
