// What pairs of a candidate and the default say: how much faster it is, and whether it may replace the default.
#pragma once

#include "paired_statistics.h"

#include <vector>

namespace flashwright {

struct PairedVerdict {
    bool win = false;  // else the default stays: a tie
    double ratio = 1;  // Hodges-Lehmann, of the candidate's time over the default's
    Interval interval = {1, 1};
    double p = 1;  // adjusted
    int pairs = 0;
};

// Of each candidate, from the log-ratios of its placements (kPairs pairs each).
std::vector<PairedVerdict> judge_pairs(const std::vector<std::vector<double>> &log_ratios, double noise_floor);

// Of the log-ratios of the default over itself: half the interval of their median.
double noise_floor_of(const std::vector<double> &log_ratios);

// The largest ratio that a winner's interval may reach is 1 less this.
double least_gain(double noise_floor);

}  // namespace flashwright
