#include "search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>

namespace flashwright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

SearchSpace::SearchSpace(std::vector<std::string> names, std::vector<bool> run_time,
                         std::vector<std::vector<int>> points)
    : names_(std::move(names)),
      run_time_(std::move(run_time)),
      points_(std::move(points)),
      ranks_(points_),
      features_(points_.size(), std::vector<double>(names_.size())) {
    std::sort(points_.begin(), points_.end());
    for (std::size_t p = 0; p < names_.size(); ++p) {
        std::set<int> values;
        for (const auto &point : points_) values.insert(point[p]);
        const std::vector<int> sorted(values.begin(), values.end());
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const auto place = std::lower_bound(sorted.begin(), sorted.end(), points_[i][p]);
            ranks_[i][p] = static_cast<int>(place - sorted.begin());
            features_[i][p] = sorted.size() > 1 ? ranks_[i][p] / static_cast<double>(sorted.size() - 1) : 0;
        }
    }
    find_objects();
}

void SearchSpace::find_objects() {
    std::map<std::vector<int>, std::size_t> numbers;  // by the values that are compiled in
    for (std::size_t i = 0; i < points_.size(); ++i) {
        std::vector<int> compiled_in;
        for (std::size_t p = 0; p < names_.size(); ++p) {
            if (!run_time_[p]) compiled_in.push_back(points_[i][p]);
        }
        const std::size_t object = numbers.emplace(compiled_in, numbers.size()).first->second;
        object_of_.push_back(object);
        points_of_object_.resize(numbers.size());
        points_of_object_[object].push_back(i);
    }
}

std::size_t SearchSpace::find(const std::vector<int> &point) const {
    const auto place = std::lower_bound(points_.begin(), points_.end(), point);
    return place != points_.end() && *place == point ? static_cast<std::size_t>(place - points_.begin()) : size();
}

std::vector<std::size_t> SearchSpace::neighbours(std::size_t index) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < size(); ++i) {
        int largest = 0, changed = 0;
        for (std::size_t p = 0; p < names_.size(); ++p) {
            const int step = std::abs(ranks_[i][p] - ranks_[index][p]);
            largest = std::max(largest, step);
            changed += step > 0 ? 1 : 0;
        }
        if (largest == 1 && changed <= 2) found.push_back(i);
    }
    return found;
}

std::string SearchSpace::text(std::size_t index) const {
    std::string text;
    for (std::size_t p = 0; p < names_.size(); ++p) {
        text += fmt::format("{}{}={}", p > 0 ? " " : "", names_[p], points_[index][p]);
    }
    return text;
}

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

SearchSpace search_space(const TileSpace &tiles, CpuSearchContext context, const SmallestShape &shape,
                         const CpuTiles &baseline_tiles, const std::map<std::string, std::vector<int>> &only) {
    std::vector<std::string> names;
    std::vector<bool> run_time;
    for (const TileParameter &parameter : tiles.parameters) {
        names.emplace_back(parameter.name);
        run_time.push_back(parameter.run_time);
    }
    const auto allowed = [&](const std::vector<int> &point) {
        for (std::size_t p = 0; p < names.size(); ++p) {
            const auto values = only.find(names[p]);
            if (values != only.end() &&
                std::find(values->second.begin(), values->second.end(), point[p]) == values->second.end())
                return false;
        }
        return true;
    };
    context.shape = shape;
    std::set<std::vector<int>> points = {tiles.point_of(baseline_tiles)};
    for (const CpuTiles &choice : tiles.choices(context)) {
        const std::vector<int> point = tiles.point_of(choice);
        if (allowed(point)) points.insert(point);
    }
    return SearchSpace(std::move(names), std::move(run_time), {points.begin(), points.end()});
}

}  // namespace flashwright
