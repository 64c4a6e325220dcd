// The tuner's statistics against published values, its classifier, and the selection of variants.
#include "tuner/comparison/final_selection.h"
#include "tuner/comparison/paired_statistics.h"
#include "tuner/comparison/protocol.h"
#include "tuner/search/tree_ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace flashwright::test {
namespace {

// R's example of wilcox.test: Hollander and Wolfe (1973), depression scales before and after.
const std::vector<double> kDepression = {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                                         1.88 - 1.29,  1.55 - 1.06,  3.06 - 3.14,  1.30 - 1.29};

TEST(TunerStatistics, WilcoxonExact) {
    EXPECT_NEAR(wilcoxon_p(kDepression), 0.0390625, 1e-12);  // R: V = 40
    EXPECT_DOUBLE_EQ(wilcoxon_p({1, 2, 3, 4, 5}), 0.0625);   // 2 / 2^5
    EXPECT_DOUBLE_EQ(wilcoxon_p({0, 0}), 1);
}

TEST(TunerStatistics, WilcoxonWithTies) {
    // SciPy: wilcoxon(x, correction=True, mode="approx") with these zero-free, tied differences.
    EXPECT_NEAR(wilcoxon_p({1, 1, 2, 2, -1, 3, 4, 4}), 0.028773826419605155, 1e-12);
}

TEST(TunerStatistics, HodgesLehmann) {
    EXPECT_NEAR(hodges_lehmann(kDepression), 0.46, 1e-9);  // R: pseudomedian
    const Interval interval = hodges_lehmann_interval(kDepression);
    EXPECT_NEAR(interval.low, 0.01, 1e-9);  // R, conf.int = TRUE
    EXPECT_NEAR(interval.high, 0.786, 1e-9);
}

TEST(TunerStatistics, MedianInterval) {
    // 30 values: the 10th and the 21st, as in tables of the sign test.
    std::vector<double> values(30);
    for (int i = 0; i < 30; ++i) values[static_cast<std::size_t>(i)] = i + 1;
    const Interval interval = median_interval(values);
    EXPECT_EQ(interval.low, 10);
    EXPECT_EQ(interval.high, 21);
}

TEST(TunerStatistics, Holm) {
    const std::vector<double> adjusted = holm({0.01, 0.04, 0.03});
    EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
    EXPECT_DOUBLE_EQ(adjusted[1], 0.06);
    EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
}

// Under the null hypothesis the test rejects as often as it says.
TEST(TunerStatistics, FalseAlarms) {
    std::mt19937 random(7);
    std::cauchy_distribution<double> noise;
    int alarms = 0;
    constexpr int kTrials = 2000;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> differences(40);
        for (double &d : differences) d = noise(random);
        alarms += wilcoxon_p(differences) < 0.05 ? 1 : 0;
    }
    EXPECT_NEAR(alarms / double{kTrials}, 0.05, 0.015);
}

TEST(TunerVerdict, WinsBelowTheNoiseFloorAlone) {
    std::vector<double> a_tenth_less, the_same;
    for (int i = 0; i < kPlacements; ++i) {
        a_tenth_less.push_back(std::log(0.9) + 1e-3 * i);
        the_same.push_back(1e-3 * (i % 2 == 0 ? 1 + i : -i));
    }
    const std::vector<PairedVerdict> verdicts = judge_pairs({a_tenth_less, the_same}, 0.05);
    EXPECT_TRUE(verdicts[0].win);
    EXPECT_NEAR(verdicts[0].ratio, 0.9 * std::exp(4.5e-3), 1e-9);
    EXPECT_LT(verdicts[0].interval.high, 0.95);
    EXPECT_NEAR(verdicts[0].p, 2 * wilcoxon_p(a_tenth_less), 1e-12);  // one of two
    EXPECT_EQ(verdicts[0].pairs, kPlacements * kPairs);
    EXPECT_FALSE(verdicts[1].win);
    EXPECT_FALSE(judge_pairs({a_tenth_less}, 0.12)[0].win);
    EXPECT_DOUBLE_EQ(least_gain(0), kLeastGain);
    EXPECT_GT(noise_floor_of(the_same), 0);
}

TEST(TunerEnsemble, LearnsABox) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> uniform;
    const auto inside = [](const std::vector<double> &x) { return x[0] < 0.4 && x[1] > 0.5; };
    std::vector<std::vector<double>> features;
    std::vector<bool> good;
    for (int i = 0; i < 300; ++i) {
        features.push_back({uniform(random), uniform(random), uniform(random)});
        good.push_back(inside(features.back()));
    }
    const TreeEnsemble model(features, good, random);
    int right = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::vector<double> x = {uniform(random), uniform(random), uniform(random)};
        right += (model.probability(x) > 0.5) == inside(x) ? 1 : 0;
    }
    EXPECT_GT(right, 930);
}

TEST(TunerSelectVariants, FewestVariants) {
    // The first is best nowhere but near everywhere; the others are best on one shape each.
    EXPECT_EQ(select_variants({{0.93, 0.93}, {0.90, 1.2}, {1.2, 0.90}}, 1.05, 4), std::vector<std::size_t>{0});
    EXPECT_EQ(select_variants({{1.0, 1.0}, {0.80, 1.2}, {1.2, 0.80}}, 1.05, 4), (std::vector<std::size_t>{1, 2}));
    EXPECT_EQ(select_variants({{1.0, 1.0}, {0.80, 1.2}, {1.2, 0.80}}, 1.05, 1), std::vector<std::size_t>{1});
    EXPECT_TRUE(select_variants({}, 1.05, 3).empty());
    // The baseline serves a shape whose best is hardly better. One variant is chosen in any case.
    EXPECT_EQ(select_variants({{0.80, 1.2}, {1.2, 0.96}}, 1.05, 4), std::vector<std::size_t>{0});
    EXPECT_EQ(select_variants({{1.2, 1.0}, {0.97, 1.0}}, 1.05, 4), std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace flashwright::test
