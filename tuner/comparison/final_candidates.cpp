#include "final_candidates.h"

#include "measure/statistics.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace flashwright {
namespace {

void drop(const ContestField &field, std::vector<std::size_t> &points, std::size_t place, const CheckResult &fault) {
    field.drop(points[place], fault);
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(place));
}

bool failed(const CheckResult &result) {
    return result.verdict != Verdict::ok && result.verdict != Verdict::interrupted;
}

// The default failed beside them: each alone tells which took it down. If none did nothing can be compared with it.
void drop_culprits(const ContestField &field, std::vector<std::size_t> &points, const CheckResult &fault,
                   const std::function<CheckResult(std::size_t)> &alone) {
    const std::size_t before = points.size();
    for (std::size_t i = before; i-- > 0 && !field.stopped();) {
        const CheckResult result = before == 1 ? fault : alone(points[i]);
        if (failed(result)) drop(field, points, i, result);
    }
    if (points.size() < before || field.stopped()) return;
    field.warning("the default of " + field.name + " failed " + fault.detail);
    points.clear();
}

}  // namespace

std::vector<Contestant> ContestField::with_anchor(const std::vector<std::size_t> &points) const {
    std::vector<Contestant> all = {contestants.at(default_point)};
    for (const std::size_t point : points) all.push_back(contestants.at(point));
    return all;
}

RoundTimes timed_beside_default(const ContestField &field, std::vector<std::size_t> &points,
                                const std::vector<int> &shapes, int rounds, std::uint32_t seed) {
    const auto time = [&](const std::vector<std::size_t> &timed) {
        return field.trials.rounds(field.with_anchor(timed), shapes, rounds, seed);
    };
    RoundTimes times;
    while (!points.empty()) {
        times = time(points);
        if (times.interrupted) break;
        if (failed(times.faults[0])) {
            drop_culprits(field, points, times.faults[0], [&](std::size_t point) {
                const RoundTimes pair = time({point});
                return failed(pair.faults[0]) ? pair.faults[0] : pair.faults[1];
            });
            continue;
        }
        for (std::size_t i = points.size(); i-- > 0;) {
            if (!failed(times.faults[i + 1])) continue;
            drop(field, points, i, times.faults[i + 1]);
            times.seconds.erase(times.seconds.begin() + static_cast<std::ptrdiff_t>(i + 1));
        }
        break;
    }
    times.interrupted = field.stopped();
    return times;
}

PairTimes paired_with_default(const ContestField &field, std::vector<std::size_t> &points, int shape, int placements) {
    const auto compare = [&](const std::vector<std::size_t> &compared) {
        std::vector<Contestant> contestants = field.with_anchor(compared);
        const Contestant anchor = contestants.front();
        contestants.erase(contestants.begin());
        return field.trials.pairs(anchor, contestants, shape, placements);
    };
    PairTimes times;
    while (!points.empty()) {
        times = compare(points);
        if (!failed(times.fault)) break;
        if (times.failed < points.size()) {
            drop(field, points, times.failed, times.fault);
        } else {
            drop_culprits(field, points, times.fault, [&](std::size_t point) { return compare({point}).fault; });
        }
    }
    return times;
}

PairTimes paired_with_itself(const ContestField &field, int shape, int placements) {
    const Contestant &anchor = field.contestants.at(field.default_point);
    const PairTimes times = field.trials.pairs(anchor, {anchor}, shape, placements);
    return failed(times.fault) ? field.trials.pairs(anchor, {anchor}, shape, placements) : times;
}

double score(const std::vector<double> &seconds, const std::vector<double> &anchor) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(seconds.size(), anchor.size()); ++round)
        ratios.push_back(seconds[round] / anchor[round]);
    return ratios.empty() ? std::numeric_limits<double>::infinity() : quarter(ratios);
}

}  // namespace flashwright
