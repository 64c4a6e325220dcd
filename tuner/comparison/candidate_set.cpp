#include "candidate_set.h"

#include "measure/statistics.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace flashwright {
namespace {

void drop(const CandidateSet &set, std::vector<std::size_t> &points, std::size_t place, const CheckResult &fault) {
    set.drop(points[place], fault);
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(place));
}

bool failed(const CheckResult &result) {
    return result.verdict != Verdict::ok && result.verdict != Verdict::interrupted;
}

// The baseline failed beside the candidates. Each is run alone with it to find the culprit; without one, nothing can be
// compared.
void drop_culprits(const CandidateSet &set, std::vector<std::size_t> &points, const CheckResult &fault,
                   const std::function<CheckResult(std::size_t)> &alone) {
    const std::size_t before = points.size();
    for (std::size_t i = before; i-- > 0 && !set.stopped();) {
        const CheckResult result = before == 1 ? fault : alone(points[i]);
        if (failed(result)) drop(set, points, i, result);
    }
    if (points.size() < before || set.stopped()) return;
    set.warning("the baseline of " + set.name + " failed " + fault.detail);
    points.clear();
}

}  // namespace

std::vector<Candidate> CandidateSet::with_baseline(const std::vector<std::size_t> &points) const {
    std::vector<Candidate> all = {candidates.at(baseline_point)};
    for (const std::size_t point : points) all.push_back(candidates.at(point));
    return all;
}

RoundTimes timed_beside_baseline(const CandidateSet &set, std::vector<std::size_t> &points,
                                 const std::vector<int> &shapes, int rounds, std::uint32_t seed) {
    const auto time = [&](const std::vector<std::size_t> &timed) {
        return set.trials.rounds(set.with_baseline(timed), shapes, rounds, seed);
    };
    RoundTimes times;
    while (!points.empty()) {
        times = time(points);
        if (times.interrupted) break;
        if (failed(times.faults[0])) {
            drop_culprits(set, points, times.faults[0], [&](std::size_t point) {
                const RoundTimes pair = time({point});
                return failed(pair.faults[0]) ? pair.faults[0] : pair.faults[1];
            });
            continue;
        }
        for (std::size_t i = points.size(); i-- > 0;) {
            if (!failed(times.faults[i + 1])) continue;
            drop(set, points, i, times.faults[i + 1]);
            times.seconds.erase(times.seconds.begin() + static_cast<std::ptrdiff_t>(i + 1));
        }
        break;
    }
    times.interrupted = set.stopped();
    return times;
}

PairTimes paired_with_baseline(const CandidateSet &set, std::vector<std::size_t> &points, int shape, int placements) {
    const auto compare = [&](const std::vector<std::size_t> &compared) {
        std::vector<Candidate> candidates = set.with_baseline(compared);
        const Candidate baseline = candidates.front();
        candidates.erase(candidates.begin());
        return set.trials.pairs(baseline, candidates, shape, placements);
    };
    PairTimes times;
    while (!points.empty()) {
        times = compare(points);
        if (!failed(times.fault)) break;
        if (times.failed < points.size()) {
            drop(set, points, times.failed, times.fault);
        } else {
            drop_culprits(set, points, times.fault, [&](std::size_t point) { return compare({point}).fault; });
        }
    }
    return times;
}

PairTimes paired_with_itself(const CandidateSet &set, int shape, int placements) {
    const Candidate &baseline = set.candidates.at(set.baseline_point);
    const PairTimes times = set.trials.pairs(baseline, {baseline}, shape, placements);
    return failed(times.fault) ? set.trials.pairs(baseline, {baseline}, shape, placements) : times;
}

double score(const std::vector<double> &seconds, const std::vector<double> &baseline) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(seconds.size(), baseline.size()); ++round)
        ratios.push_back(seconds[round] / baseline[round]);
    return ratios.empty() ? std::numeric_limits<double>::infinity() : quarter(ratios);
}

}  // namespace flashwright
