// A space of tiles to search: points, each with a value for every parameter. And the history of a search in it.
#pragma once

#include "kernels/tile_space.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

class SearchSpace {
 public:
    // `points` in a fixed order and without repetitions; `names` and `run_time` by parameter.
    SearchSpace(std::vector<std::string> names, std::vector<bool> run_time, std::vector<std::vector<int>> points);

    std::size_t size() const { return points_.size(); }
    const std::vector<std::string> &names() const { return names_; }
    const std::vector<bool> &run_time() const { return run_time_; }
    const std::vector<int> &point(std::size_t index) const { return points_[index]; }
    // size() if the space has no such point.
    std::size_t find(const std::vector<int> &point) const;

    // For each parameter the rank of the point's value among all values in the space, scaled to [0, 1].
    const std::vector<double> &features(std::size_t index) const { return features_[index]; }
    // Points that differ in one or two parameters, by one step of its values each.
    std::vector<std::size_t> neighbours(std::size_t index) const;

    // Points that differ only in parameters given at run time share one object. Its number, and its points.
    std::size_t object_of(std::size_t index) const { return object_of_[index]; }
    const std::vector<std::size_t> &points_of_object(std::size_t object) const { return points_of_object_[object]; }

    // block_q=32 block_k=256 …
    std::string text(std::size_t index) const;

 private:
    std::vector<std::string> names_;
    std::vector<bool> run_time_;
    std::vector<std::vector<int>> points_;
    std::vector<std::vector<int>> ranks_;
    std::vector<std::vector<double>> features_;
    std::vector<std::size_t> object_of_;
    std::vector<std::vector<std::size_t>> points_of_object_;

    void find_objects();
};

// What was tried so far.
class SearchHistory {
 public:
    SearchHistory(std::size_t points, std::size_t shapes) : tried_(points, false), ratios_(points), shapes_(shapes) {}

    // `ratios`: times over the baseline's, by shape; empty for a failure.
    void add(std::size_t point, const std::vector<double> &ratios);

    std::size_t points() const { return tried_.size(); }
    std::size_t shapes() const { return shapes_; }
    bool tried(std::size_t point) const { return tried_[point]; }
    const std::vector<double> &ratios(std::size_t point) const { return ratios_[point]; }
    const std::vector<std::size_t> &order() const { return order_; }  // points in the order they were tried

    // The best ratio of a shape so far; infinite if there is none.
    double best(std::size_t shape) const;
    // The smallest ratio of the point to the best, over the shapes: 1 for a best point, infinite for a failure.
    double score(std::size_t point) const;
    // Tried points that did not fail, best first; equal points in the order of the space.
    std::vector<std::size_t> ranking() const;
    std::vector<std::size_t> ranking(std::size_t shape) const;

 private:
    std::vector<bool> tried_;
    std::vector<std::vector<double>> ratios_;
    std::size_t shapes_;
    std::vector<std::size_t> order_;
};

// The space of an op's tiles. `only`: allowed values by parameter; parameters of other ops are ignored. The baseline's
// tiles are always a point of it.
SearchSpace search_space(const TileSpace &tiles, CpuSearchContext context, const SmallestShape &shape,
                         const CpuTiles &baseline_tiles, const std::map<std::string, std::vector<int>> &only);

}  // namespace flashwright
