#include "paired_verdict.h"

#include "protocol.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flashwright {

std::vector<PairedVerdict> judge_pairs(const std::vector<std::vector<double>> &log_ratios, double noise_floor) {
    std::vector<double> p_values;
    for (const auto &ratios : log_ratios) p_values.push_back(wilcoxon_p(ratios));
    p_values = holm(p_values);
    std::vector<PairedVerdict> judged;
    for (std::size_t i = 0; i < log_ratios.size(); ++i) {
        PairedVerdict verdict;
        const Interval logs = hodges_lehmann_interval(log_ratios[i]);
        verdict.ratio = std::exp(hodges_lehmann(log_ratios[i]));
        verdict.interval = {std::exp(logs.low), std::exp(logs.high)};
        verdict.p = p_values[i];
        verdict.pairs = static_cast<int>(log_ratios[i].size()) * kPairs;
        verdict.win = verdict.p < kSignificance && verdict.interval.high < 1 - least_gain(noise_floor);
        judged.push_back(verdict);
    }
    return judged;
}

double noise_floor_of(const std::vector<double> &log_ratios) {
    const Interval interval = median_interval(log_ratios);
    return (interval.high - interval.low) / 2;
}

double least_gain(double noise_floor) { return std::max(kLeastGain, noise_floor); }

}  // namespace flashwright
