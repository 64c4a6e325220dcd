#include "tree_ensemble.h"

#include <algorithm>
#include <numeric>

namespace flashwright {
namespace {

constexpr int kTrees = 60;
constexpr std::size_t kSmallestSplit = 3;
constexpr int kThresholdsPerFeature = 2;  // drawn at random, as in extremely randomized trees

double impurity(double good, double count) { return count > 0 ? good * (count - good) / count : 0; }

}  // namespace

TreeEnsemble::TreeEnsemble(const std::vector<std::vector<double>> &features, const std::vector<bool> &good,
                           std::mt19937 &random) {
    std::vector<std::size_t> all(features.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    trees_.resize(kTrees);
    for (Tree &tree : trees_) grow(tree, all, features, good, random);
}

std::size_t TreeEnsemble::grow(Tree &tree, std::vector<std::size_t> examples,
                               const std::vector<std::vector<double>> &features, const std::vector<bool> &good,
                               std::mt19937 &random) const {
    const std::size_t place = tree.size();
    tree.emplace_back();
    const auto goods = [&](auto begin, auto end) {
        return static_cast<double>(std::count_if(begin, end, [&](std::size_t i) { return good[i]; }));
    };
    const double count = static_cast<double>(examples.size()), total = goods(examples.begin(), examples.end());
    tree[place].value = total / count;
    if (examples.size() < kSmallestSplit || total == 0 || total == count) return place;
    double best = impurity(total, count);
    Node split;
    for (std::size_t feature = 0; feature < features[0].size(); ++feature) {
        const auto [low, high] = std::minmax_element(
            examples.begin(), examples.end(),
            [&](std::size_t a, std::size_t b) { return features[a][feature] < features[b][feature]; });
        const double smallest = features[*low][feature], largest = features[*high][feature];
        if (smallest == largest) continue;
        std::uniform_real_distribution<double> between(smallest, largest);
        for (int draw = 0; draw < kThresholdsPerFeature; ++draw) {
            const double threshold = between(random);
            double below = 0, good_below = 0;
            for (const std::size_t i : examples) {
                if (features[i][feature] > threshold) continue;
                below += 1;
                good_below += good[i] ? 1 : 0;
            }
            const double left = impurity(good_below, below) + impurity(total - good_below, count - below);
            if (below > 0 && below < count && left < best) {
                best = left;
                split.feature = static_cast<int>(feature);
                split.threshold = threshold;
            }
        }
    }
    if (split.feature < 0) return place;
    const auto middle = std::partition(examples.begin(), examples.end(), [&](std::size_t i) {
        return features[i][static_cast<std::size_t>(split.feature)] <= split.threshold;
    });
    split.value = tree[place].value;
    split.below = grow(tree, {examples.begin(), middle}, features, good, random);
    split.above = grow(tree, {middle, examples.end()}, features, good, random);
    tree[place] = split;
    return place;
}

double TreeEnsemble::probability(const std::vector<double> &features) const {
    double sum = 0;
    for (const Tree &tree : trees_) {
        std::size_t node = 0;
        while (tree[node].feature >= 0) {
            const bool below = features[static_cast<std::size_t>(tree[node].feature)] <= tree[node].threshold;
            node = below ? tree[node].below : tree[node].above;
        }
        sum += tree[node].value;
    }
    return sum / static_cast<double>(trees_.size());
}

}  // namespace flashwright
