// Candidates timed beside the baseline. One that crashes or hangs is reported and dropped; the others continue.
#pragma once

#include "trials.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct CandidateSet {
    Trials &trials;
    const std::map<std::size_t, Candidate> &candidates;  // by point
    std::size_t baseline_point;
    std::string name;                                                       // of the kernel
    std::function<void(std::size_t point, const CheckResult &fault)> drop;  // called for each that fails
    std::function<void(const std::string &)> warning;
    StopRequested stopped;

    // The baseline, then those points.
    std::vector<Candidate> with_baseline(const std::vector<std::size_t> &points) const;
};

// Trials::rounds for the baseline and then the `points`, from which failures are removed.
RoundTimes timed_beside_baseline(const CandidateSet &set, std::vector<std::size_t> &points,
                                 const std::vector<int> &shapes, int rounds, std::uint32_t seed);

// Trials::pairs for the `points`, from which failures are removed.
PairTimes paired_with_baseline(const CandidateSet &set, std::vector<std::size_t> &points, int shape, int placements);

// Trials::pairs of the baseline with itself. A failure is tried once more, as the machine may have caused it.
PairTimes paired_with_itself(const CandidateSet &set, int shape, int placements);

// The 25th percentile of the ratio to the baseline's time in the same round.
double score(const std::vector<double> &seconds, const std::vector<double> &baseline);

}  // namespace flashwright
