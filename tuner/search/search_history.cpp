#include "search_history.h"

#include <algorithm>
#include <limits>

namespace flashwright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void SearchHistory::add(std::size_t point, const std::vector<double> &ratios) {
    if (!tried_[point]) order_.push_back(point);
    tried_[point] = true;
    ratios_[point] = ratios;
}

double SearchHistory::best(std::size_t shape) const {
    double best = kInfinity;
    for (const std::size_t point : order_) {
        if (!ratios_[point].empty()) best = std::min(best, ratios_[point][shape]);
    }
    return best;
}

double SearchHistory::score(std::size_t point) const {
    double score = kInfinity;
    for (std::size_t shape = 0; shape < ratios_[point].size(); ++shape) {
        score = std::min(score, ratios_[point][shape] / best(shape));
    }
    return score;
}

std::vector<std::size_t> SearchHistory::ranking() const {
    std::vector<double> best_of_shape;
    for (std::size_t shape = 0; shape < shapes_; ++shape) best_of_shape.push_back(best(shape));
    std::vector<std::pair<double, std::size_t>> ranked;
    for (const std::size_t point : order_) {
        if (ratios_[point].empty()) continue;
        double score = kInfinity;
        for (std::size_t shape = 0; shape < shapes_; ++shape)
            score = std::min(score, ratios_[point][shape] / best_of_shape[shape]);
        ranked.emplace_back(score, point);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::size_t> points;
    std::transform(ranked.begin(), ranked.end(), std::back_inserter(points), [](const auto &r) { return r.second; });
    return points;
}

std::vector<std::size_t> SearchHistory::ranking(std::size_t shape) const {
    std::vector<std::pair<double, std::size_t>> ranked;
    for (const std::size_t point : order_) {
        if (!ratios_[point].empty()) ranked.emplace_back(ratios_[point][shape], point);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::size_t> points;
    std::transform(ranked.begin(), ranked.end(), std::back_inserter(points), [](const auto &r) { return r.second; });
    return points;
}

}  // namespace flashwright
