// The fewest variants that serve all shapes well.
#pragma once

#include <cstddef>
#include <vector>

namespace flashwright {

// `ratios[variant][shape]` are times over the default's, which serves too. Variants, at most `most` and at least one,
// chosen one after the other so that as many shapes as possible have one, or the default, within `slack` (1.05: 5 %) of
// the shape's best; among equals the one with the smaller sum of logarithms, then the earlier. Ends when all shapes are
// served.
std::vector<std::size_t> cover(const std::vector<std::vector<double>> &ratios, double slack, std::size_t most);

}  // namespace flashwright
