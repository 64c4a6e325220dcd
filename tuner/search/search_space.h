// What a search sees of a space of tiles: points, each a value for every parameter, and how far apart they are.
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
    // size() if it is no point.
    std::size_t find(const std::vector<int> &point) const;

    // Of each parameter the place of the point's value among all values that occur, from 0 to 1.
    const std::vector<double> &features(std::size_t index) const { return features_[index]; }
    // Points that differ in one parameter, by one step of its values, or in two by one each.
    std::vector<std::size_t> neighbours(std::size_t index) const;

    // Points that differ in parameters given at run time alone are one object: its number, and its points.
    std::size_t object_of(std::size_t index) const { return object_of_[index]; }
    const std::vector<std::size_t> &points_of_object(std::size_t object) const { return points_of_object_[object]; }

    // A text for people and files: block_q=32 block_k=256 …
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

// Of an op's tiles. `only`: the values allowed, where not all are; parameters of other ops do not matter. The default
// of the build is a point of it whatever the rules say.
SearchSpace search_space(const TileSpace &tiles, CpuSearchContext context, const SmallestShape &shape,
                         const CpuSimdTiles &default_tiles, const std::map<std::string, std::vector<int>> &only);

}  // namespace flashwright
