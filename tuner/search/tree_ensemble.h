// A small ensemble of randomized decision trees: a classifier of good and other points.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace flashwright {

class TreeEnsemble {
 public:
    // `features` by example; `good` by example. Takes at least one example.
    TreeEnsemble(const std::vector<std::vector<double>> &features, const std::vector<bool> &good, std::mt19937 &random);

    // The probability that a point with these features is good.
    double probability(const std::vector<double> &features) const;

 private:
    struct Node {
        int feature = -1;  // -1: a leaf
        double threshold = 0, value = 0;
        std::size_t below = 0, above = 0;
    };
    using Tree = std::vector<Node>;
    std::vector<Tree> trees_;

    std::size_t grow(Tree &tree, std::vector<std::size_t> examples, const std::vector<std::vector<double>> &features,
                     const std::vector<bool> &good, std::mt19937 &random) const;
};

}  // namespace flashwright
