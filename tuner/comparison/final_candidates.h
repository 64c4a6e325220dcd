// Candidates timed beside the default. One that crashes or hangs is named and leaves the field; the rest goes on.
#pragma once

#include "trials.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct ContestField {
    Trials &trials;
    const std::map<std::size_t, Contestant> &contestants;  // by point
    std::size_t default_point;
    std::string name;                                                       // of what is tuned
    std::function<void(std::size_t point, const CheckResult &fault)> drop;  // hears of each that leaves
    std::function<void(const std::string &)> warning;
    StopRequested stopped;

    // The default, then those.
    std::vector<Contestant> with_anchor(const std::vector<std::size_t> &points) const;
};

// As Trials::rounds, of the default and then of the `points` that are left.
RoundTimes timed_beside_default(const ContestField &field, std::vector<std::size_t> &points,
                                const std::vector<int> &shapes, int rounds, std::uint32_t seed);

// As Trials::pairs, of the `points` that are left.
PairTimes paired_with_default(const ContestField &field, std::vector<std::size_t> &points, int shape, int placements);

// As Trials::pairs, of the default with itself; once more where that fails: what the machine did once it need not do
// again.
PairTimes paired_with_itself(const ContestField &field, int shape, int placements);

// The 25th percentile of the times over the anchor's in the same round.
double score(const std::vector<double> &seconds, const std::vector<double> &anchor);

}  // namespace flashwright
