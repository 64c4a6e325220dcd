// Statistics of paired differences, here logarithms of time ratios, and the verdict that follows from them.
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

// The Hodges-Lehmann estimate: the median of the means of all pairs of differences, each with itself too. The interval
// is that of the Wilcoxon test at 95 %.
double hodges_lehmann(const std::vector<double> &differences);
Interval hodges_lehmann_interval(const std::vector<double> &differences);

// 95 % interval of the median, by order statistics.
Interval median_interval(std::vector<double> values);

// p-values adjusted for their number (Holm), in the order given.
std::vector<double> holm(const std::vector<double> &p_values);

// How much faster a candidate is than the baseline, and whether it may replace it.
struct PairedVerdict {
    bool win = false;  // otherwise a tie: the baseline stays
    double ratio = 1;  // of the candidate's time over the baseline's: the Hodges-Lehmann estimate
    Interval interval = {1, 1};
    double p = 1;  // of the Wilcoxon test, adjusted for the number of candidates
    int pairs = 0;
};

// One verdict for each candidate, from the log-ratios of its placements (kPairs pairs each).
std::vector<PairedVerdict> judge_pairs(const std::vector<std::vector<double>> &log_ratios, double noise_floor);

// Half the confidence interval of the median, from log-ratios of the baseline over itself.
double noise_floor_of(const std::vector<double> &log_ratios);

// A candidate wins if the upper end of its interval is below 1 - least_gain.
double least_gain(double noise_floor);

}  // namespace flashwright
