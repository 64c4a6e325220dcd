#include "contest.h"

#include <functional>

namespace flashwright {
namespace {

void drop(TuningSession &session, std::vector<std::size_t> &points, std::size_t place, const CheckResult &fault) {
    const std::size_t point = points[place];
    session.record_failure(point, session.trial_entry(point), fault);
    points.erase(points.begin() + static_cast<std::ptrdiff_t>(place));
}

bool failed(const CheckResult &result) {
    return result.verdict != Verdict::ok && result.verdict != Verdict::interrupted;
}

// The default failed beside them: each alone tells which took it down. If none did nothing can be compared with it.
void drop_culprits(TuningSession &session, std::vector<std::size_t> &points, const CheckResult &fault,
                   const std::function<CheckResult(std::size_t)> &alone) {
    const std::size_t before = points.size();
    for (std::size_t i = before; i-- > 0 && !session.stopped();) {
        const CheckResult result = before == 1 ? fault : alone(points[i]);
        if (failed(result)) drop(session, points, i, result);
    }
    if (points.size() < before || session.stopped()) return;
    session.listener.warning("the default of " + session.family.name() + " failed " + fault.detail);
    points.clear();
}

}  // namespace

RoundTimes timed_beside_default(TuningSession &session, std::vector<std::size_t> &points,
                                const std::vector<int> &shapes, int rounds, std::uint32_t seed) {
    const auto time = [&](const std::vector<std::size_t> &field) {
        return session.trials.rounds(session.with_anchor(field), shapes, rounds, seed);
    };
    RoundTimes times;
    while (!points.empty()) {
        times = time(points);
        if (times.interrupted) break;
        if (failed(times.faults[0])) {
            drop_culprits(session, points, times.faults[0], [&](std::size_t point) {
                const RoundTimes pair = time({point});
                return failed(pair.faults[0]) ? pair.faults[0] : pair.faults[1];
            });
            continue;
        }
        for (std::size_t i = points.size(); i-- > 0;) {
            if (!failed(times.faults[i + 1])) continue;
            drop(session, points, i, times.faults[i + 1]);
            times.seconds.erase(times.seconds.begin() + static_cast<std::ptrdiff_t>(i + 1));
        }
        break;
    }
    times.interrupted = session.stopped();
    return times;
}

PairTimes paired_with_default(TuningSession &session, std::vector<std::size_t> &points, int shape, int placements) {
    const auto compare = [&](const std::vector<std::size_t> &field) {
        std::vector<Contestant> contestants;
        for (const std::size_t point : field) contestants.push_back(session.contestants.at(point));
        return session.trials.pairs(session.anchor(), contestants, shape, placements);
    };
    PairTimes times;
    while (!points.empty()) {
        times = compare(points);
        if (!failed(times.fault)) break;
        if (times.failed < points.size()) {
            drop(session, points, times.failed, times.fault);
        } else {
            drop_culprits(session, points, times.fault, [&](std::size_t point) { return compare({point}).fault; });
        }
    }
    return times;
}

}  // namespace flashwright
