// What a search knows of its space so far.
#pragma once

#include <cstddef>
#include <vector>

namespace flashwright {

class SearchHistory {
 public:
    SearchHistory(std::size_t points, std::size_t shapes) : tried_(points, false), ratios_(points), shapes_(shapes) {}

    // Times over the default's, by shape; empty: it failed.
    void add(std::size_t point, const std::vector<double> &ratios);

    std::size_t points() const { return tried_.size(); }
    std::size_t shapes() const { return shapes_; }
    bool tried(std::size_t point) const { return tried_[point]; }
    const std::vector<double> &ratios(std::size_t point) const { return ratios_[point]; }
    const std::vector<std::size_t> &order() const { return order_; }  // of the points tried

    // The best ratio of a shape so far; infinite if there is none.
    double best(std::size_t shape) const;
    // How far a point is from the best, on the shape where it does best: 1 is a best one, infinite a failed one.
    double score(std::size_t point) const;
    // Tried points that did not fail, best first; points that do equally well in the order of the space.
    std::vector<std::size_t> ranking() const;
    std::vector<std::size_t> ranking(std::size_t shape) const;

 private:
    std::vector<bool> tried_;
    std::vector<std::vector<double>> ratios_;
    std::size_t shapes_;
    std::vector<std::size_t> order_;
};

}  // namespace flashwright
