#include "paired_statistics.h"

#include "measure/statistics.h"
#include "protocol.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace flashwright {
namespace {

constexpr std::size_t kLargestExact = 50;
constexpr double kNormal975 = 1.959963984540054;  // quantile of the normal distribution

double normal_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// P(W <= w) of the sum of the ranks of positive differences among n, if signs are random.
std::vector<double> signed_rank_distribution(std::size_t n) {
    std::vector<double> probability = {1};
    for (std::size_t rank = 1; rank <= n; ++rank) {
        std::vector<double> next(probability.size() + rank, 0);
        for (std::size_t w = 0; w < probability.size(); ++w) {
            next[w] += probability[w] / 2;
            next[w + rank] += probability[w] / 2;
        }
        probability.swap(next);
    }
    std::partial_sum(probability.begin(), probability.end(), probability.begin());
    return probability;
}

std::vector<double> walsh_means(const std::vector<double> &differences) {
    std::vector<double> means;
    for (std::size_t i = 0; i < differences.size(); ++i) {
        for (std::size_t j = i; j < differences.size(); ++j) means.push_back((differences[i] + differences[j]) / 2);
    }
    std::sort(means.begin(), means.end());
    return means;
}

}  // namespace

double wilcoxon_p(const std::vector<double> &differences) {
    std::vector<double> values;
    std::copy_if(differences.begin(), differences.end(), std::back_inserter(values), [](double d) { return d != 0; });
    if (values.empty()) return 1;
    std::sort(values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    const std::size_t count = values.size();
    const double n = static_cast<double>(count);
    double positive = 0, tie_term = 0;
    for (std::size_t i = 0, next = 0; i < count; i = next) {
        for (next = i; next < count && std::abs(values[next]) == std::abs(values[i]); ++next) {
        }
        const double rank = (static_cast<double>(i + 1) + static_cast<double>(next)) / 2;  // the mean of the tied ranks
        const double ties = static_cast<double>(next - i);
        tie_term += ties * ties * ties - ties;
        for (std::size_t k = i; k < next; ++k) positive += values[k] > 0 ? rank : 0;
    }
    const double total = n * (n + 1) / 2, smaller = std::min(positive, total - positive);
    if (count <= kLargestExact && tie_term == 0 && count == differences.size()) {
        return std::min(1.0, 2 * signed_rank_distribution(count)[static_cast<std::size_t>(std::lround(smaller))]);
    }
    const double variance = n * (n + 1) * (2 * n + 1) / 24 - tie_term / 48;
    const double z = std::max(0.0, total / 2 - smaller - 0.5) / std::sqrt(variance);
    return std::min(1.0, 2 * normal_tail(z));
}

double hodges_lehmann(const std::vector<double> &differences) { return median(walsh_means(differences)); }

Interval hodges_lehmann_interval(const std::vector<double> &differences) {
    const std::vector<double> means = walsh_means(differences);
    const std::size_t count = differences.size();
    const double n = static_cast<double>(count);
    std::size_t below = 0;  // means outside the interval at either end
    if (count <= kLargestExact) {
        const std::vector<double> distribution = signed_rank_distribution(count);
        while (distribution[below] <= 0.025) ++below;
    } else {
        below = static_cast<std::size_t>(
            std::max(0.0, n * (n + 1) / 4 - kNormal975 * std::sqrt(n * (n + 1) * (2 * n + 1) / 24)));
    }
    if (below > 0) --below;
    return {means[below], means[means.size() - 1 - below]};
}

Interval median_interval(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t count = values.size();
    // The largest rank such that fewer values than that lie below the median with at most 2.5 % probability.
    double term = std::pow(0.5, static_cast<double>(count)), sum = term;
    std::size_t rank = 0;
    while (rank < count && sum <= 0.025) {
        term *= static_cast<double>(count - rank) / static_cast<double>(rank + 1);
        ++rank;
        sum += term;
    }
    if (rank > 0) --rank;
    return {values[rank], values[count - 1 - rank]};
}

std::vector<double> holm(const std::vector<double> &p_values) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
    std::vector<double> adjusted(p_values.size());
    double largest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        largest = std::max(largest, std::min(1.0, p_values[order[i]] * static_cast<double>(order.size() - i)));
        adjusted[order[i]] = largest;
    }
    return adjusted;
}

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
