#include "final_selection.h"

#include "final_candidates.h"
#include "paired_comparison.h"
#include "protocol.h"
#include "select_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace flashwright {
namespace {

struct Finalist {
    std::size_t point;
    double ratio;
};

// Finalists on all shapes.
struct Pool {
    std::vector<std::size_t> points;
    std::vector<std::vector<double>> ratios;  // [finalist][shape]
};

// The best of the search on a shape.
std::vector<std::size_t> finalists(const TuningSession &session, std::size_t shape) {
    std::vector<std::size_t> points;
    for (const std::size_t point : session.history.ranking(shape)) {
        if (point != session.default_point && session.contestants.count(point) > 0 && points.size() < kFinalists)
            points.push_back(point);
    }
    return points;
}

// Sequential halving down to the duellists, best first.
std::vector<Finalist> halve(TuningSession &session, std::size_t shape, std::vector<std::size_t> points) {
    std::vector<Finalist> ranked;
    for (int rounds = kHalvingRounds; !points.empty() && !session.stopped(); rounds *= 2) {
        const RoundTimes times = timed_beside_default(session.contest(), points, {static_cast<int>(shape)}, rounds,
                                                      session.options.seed + static_cast<std::uint32_t>(rounds));
        if (times.interrupted) break;
        ranked.clear();
        for (std::size_t i = 0; i < points.size(); ++i)
            ranked.push_back({points[i], score(times.seconds[i + 1][shape], times.seconds[0][shape])});
        std::sort(ranked.begin(), ranked.end(), [](const Finalist &a, const Finalist &b) { return a.ratio < b.ratio; });
        if (ranked.size() <= kDuellists) break;
        ranked.resize(std::max(kDuellists, (ranked.size() + 1) / 2));
        points.clear();
        for (const Finalist &finalist : ranked) points.push_back(finalist.point);
        if (points.size() == kDuellists) break;
    }
    return ranked;
}

// Without those that failed on one of the shapes meanwhile.
std::vector<std::size_t> sound(const TuningSession &session, std::vector<std::size_t> points) {
    points.erase(std::remove_if(points.begin(), points.end(),
                                [&](std::size_t point) { return session.contestants.count(point) == 0; }),
                 points.end());
    return points;
}

// The duellists of every shape, each once.
std::vector<std::size_t> duellists(TuningSession &session) {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s) {
        session.step("finals of " + session.shape_name(s));
        for (const Finalist &finalist : halve(session, s, finalists(session, s))) {
            if (std::find(all.begin(), all.end(), finalist.point) == all.end()) all.push_back(finalist.point);
        }
    }
    return sound(session, all);
}

// Every finalist on every shape; those that fail are left out.
Pool time_pool(TuningSession &session, std::vector<std::size_t> points) {
    if (points.empty()) return {};
    session.step(fmt::format("{} finalists on all shapes", points.size()));
    const RoundTimes times =
        timed_beside_default(session.contest(), points, session.all_shapes(), kPoolRounds, session.options.seed);
    if (times.interrupted) return {};
    Pool pool = {points, {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
        pool.ratios.emplace_back();
        for (std::size_t s = 0; s < session.shapes(); ++s)
            pool.ratios.back().push_back(score(times.seconds[i + 1][s], times.seconds[0][s]));
    }
    return pool;
}

// Of those worth having the best on the shape.
std::vector<std::size_t> contestants_for(const Pool &pool, std::vector<std::size_t> allowed, std::size_t shape) {
    std::sort(allowed.begin(), allowed.end(),
              [&](std::size_t a, std::size_t b) { return pool.ratios[a][shape] < pool.ratios[b][shape]; });
    if (allowed.size() > kDuellists) allowed.resize(kDuellists);
    for (std::size_t &place : allowed) place = pool.points[place];
    return allowed;
}

}  // namespace

std::vector<TunedRow> run_finals(TuningSession &session) {
    const Pool pool = time_pool(session, duellists(session));
    std::vector<std::size_t> allowed(pool.points.size());
    std::iota(allowed.begin(), allowed.end(), std::size_t{0});
    if (session.shapes() > 1) allowed = cover(pool.ratios, kCoverSlack, session.options.max_variants);
    std::vector<TunedRow> rows;
    std::vector<std::size_t> shipped;
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s)
        rows.push_back(duel(session, s, sound(session, contestants_for(pool, allowed, s)), shipped));
    // A winner that failed on a later shape serves none.
    for (std::size_t s = 0; s < rows.size() && !session.stopped(); ++s) {
        if (!rows[s].win || session.contestants.count(rows[s].point) > 0) continue;
        shipped = sound(session, shipped);
        rows[s] = duel(session, s, sound(session, contestants_for(pool, allowed, s)), shipped);
    }
    return rows;
}

}  // namespace flashwright
