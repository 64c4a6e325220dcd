#include "final_selection.h"

#include "candidate_set.h"
#include "protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>

namespace flashwright {
namespace {

struct RankedCandidate {
    std::size_t point;
    double ratio;
};

// Candidates timed on all shapes.
struct Pool {
    std::vector<std::size_t> points;
    std::vector<std::vector<double>> ratios;  // [candidate][shape]
};

// The best candidates of the search on a shape.
std::vector<std::size_t> best_of_search(const TuningSession &session, std::size_t shape) {
    std::vector<std::size_t> points;
    for (const std::size_t point : session.history.ranking(shape)) {
        if (point != session.baseline_point && session.candidates.count(point) > 0 && points.size() < kFinalCandidates)
            points.push_back(point);
    }
    return points;
}

// Sequential halving down to kComparedCandidates, best first.
std::vector<RankedCandidate> halve(TuningSession &session, std::size_t shape, std::vector<std::size_t> points) {
    std::vector<RankedCandidate> ranked;
    for (int rounds = kHalvingRounds; !points.empty() && !session.stopped(); rounds *= 2) {
        const RoundTimes times =
            timed_beside_baseline(session.candidate_set(), points, {static_cast<int>(shape)}, rounds,
                                  session.options.seed + static_cast<std::uint32_t>(rounds));
        if (times.interrupted) break;
        ranked.clear();
        for (std::size_t i = 0; i < points.size(); ++i)
            ranked.push_back({points[i], score(times.seconds[i + 1][shape], times.seconds[0][shape])});
        std::sort(ranked.begin(), ranked.end(),
                  [](const RankedCandidate &a, const RankedCandidate &b) { return a.ratio < b.ratio; });
        if (ranked.size() <= kComparedCandidates) break;
        ranked.resize(std::max(kComparedCandidates, (ranked.size() + 1) / 2));
        points.clear();
        for (const RankedCandidate &candidate : ranked) points.push_back(candidate.point);
        if (points.size() == kComparedCandidates) break;
    }
    return ranked;
}

// Without candidates that failed in the meantime, on any shape.
std::vector<std::size_t> still_correct(const TuningSession &session, std::vector<std::size_t> points) {
    points.erase(std::remove_if(points.begin(), points.end(),
                                [&](std::size_t point) { return session.candidates.count(point) == 0; }),
                 points.end());
    return points;
}

// What halving leaves of every shape, each candidate once.
std::vector<std::size_t> candidates_to_compare(TuningSession &session) {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s) {
        session.step("final selection on " + session.shape_name(s));
        for (const RankedCandidate &candidate : halve(session, s, best_of_search(session, s))) {
            if (std::find(all.begin(), all.end(), candidate.point) == all.end()) all.push_back(candidate.point);
        }
    }
    return still_correct(session, all);
}

// Every candidate on every shape; those that fail are left out.
Pool time_pool(TuningSession &session, std::vector<std::size_t> points) {
    if (points.empty()) return {};
    session.step(fmt::format("{} candidates on all shapes", points.size()));
    const RoundTimes times =
        timed_beside_baseline(session.candidate_set(), points, session.all_shapes(), kPoolRounds, session.options.seed);
    if (times.interrupted) return {};
    Pool pool = {points, {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
        pool.ratios.emplace_back();
        for (std::size_t s = 0; s < session.shapes(); ++s)
            pool.ratios.back().push_back(score(times.seconds[i + 1][s], times.seconds[0][s]));
    }
    return pool;
}

// The best of the allowed ones on the shape.
std::vector<std::size_t> candidates_for(const Pool &pool, std::vector<std::size_t> allowed, std::size_t shape) {
    std::sort(allowed.begin(), allowed.end(),
              [&](std::size_t a, std::size_t b) { return pool.ratios[a][shape] < pool.ratios[b][shape]; });
    if (allowed.size() > kComparedCandidates) allowed.resize(kComparedCandidates);
    for (std::size_t &place : allowed) place = pool.points[place];
    return allowed;
}

TunedRow baseline_row(const TuningSession &session, std::size_t shape) {
    TunedRow row;
    row.shape = session.options.shapes[shape];
    row.point = session.baseline_point;
    row.noise_floor = session.noise_floor[shape];
    return row;
}

// Each candidate as the row that it would be.
std::vector<TunedRow> judge(const TuningSession &session, std::size_t shape, const std::vector<std::size_t> &points,
                            const std::vector<std::vector<double>> &log_ratios) {
    std::vector<TunedRow> judged;
    for (const PairedVerdict &verdict : judge_pairs(log_ratios, session.noise_floor[shape])) {
        TunedRow row = baseline_row(session, shape);
        static_cast<PairedVerdict &>(row) = verdict;
        row.point = points[judged.size()];
        judged.push_back(row);
    }
    return judged;
}

TunedRow fastest(const std::vector<TunedRow> &rows) {
    return *std::min_element(rows.begin(), rows.end(),
                             [](const TunedRow &a, const TunedRow &b) { return a.ratio < b.ratio; });
}

// Ties are broken by: already selected for another shape, then smaller tile, then search order.
TunedRow preferred(const TuningSession &session, std::size_t shape, const std::vector<TunedRow> &winners,
                   const std::vector<std::size_t> &selected) {
    const double best = fastest(winners).ratio;
    const auto rank = [&](const TunedRow &w) {
        const bool apart = w.ratio > best * (1 + least_gain(session.noise_floor[shape]));
        const bool additional = std::find(selected.begin(), selected.end(), w.point) == selected.end();
        const CpuTiles tiles = session.tiles(w.point);
        return std::make_tuple(apart, additional, tiles.block_q * tiles.block_k, w.point);
    };
    return *std::min_element(winners.begin(), winners.end(),
                             [&](const TunedRow &a, const TunedRow &b) { return rank(a) < rank(b); });
}

void record(TuningSession &session, const TunedRow &row, const std::vector<TunedRow> &judged) {
    ComparisonEntry entry = {session.kernel_id(),
                             "",
                             to_string(row.shape),
                             row.noise_floor,
                             row.pairs,
                             row.win,
                             session.configuration(row.point),
                             {}};
    for (const TunedRow &candidate : judged)
        entry.candidates.push_back({session.configuration(candidate.point), candidate});
    session.journal.append(entry);
}

// `selected`: points that serve a shape already; a winner is added to them. The row has no pairs if a stop was
// requested or no candidate is left.
TunedRow compare_pairs(TuningSession &session, std::size_t shape, std::vector<std::size_t> points,
                       std::vector<std::size_t> &selected) {
    TunedRow row = baseline_row(session, shape);
    if (points.empty()) return row;
    session.step("paired comparison on " + session.shape_name(shape));
    const PairTimes times = paired_with_baseline(session.candidate_set(), points, static_cast<int>(shape), kPlacements);
    if (points.empty() || session.stopped()) return row;
    const std::vector<TunedRow> judged = judge(session, shape, points, times.log_ratios);
    std::vector<TunedRow> winners;
    std::copy_if(judged.begin(), judged.end(), std::back_inserter(winners), [](const TunedRow &r) { return r.win; });
    if (winners.empty()) {
        row = fastest(judged);
        row.point = session.baseline_point;
    } else {
        row = preferred(session, shape, winners, selected);
        if (std::find(selected.begin(), selected.end(), row.point) == selected.end()) selected.push_back(row.point);
    }
    record(session, row, judged);
    return row;
}

}  // namespace

std::vector<std::size_t> select_variants(const std::vector<std::vector<double>> &ratios, double slack,
                                         std::size_t max_variants) {
    std::vector<std::size_t> chosen;
    if (ratios.empty()) return chosen;
    const std::size_t shapes = ratios[0].size();
    std::vector<double> best(shapes, 1);
    for (const auto &row : ratios) {
        for (std::size_t shape = 0; shape < shapes; ++shape) best[shape] = std::min(best[shape], row[shape]);
    }
    std::vector<bool> served;
    for (const double ratio : best) served.push_back(1 <= slack * ratio);
    while (chosen.size() < max_variants &&
           (chosen.empty() || std::find(served.begin(), served.end(), false) != served.end())) {
        std::size_t winner = 0, most_served = 0;
        double smallest = std::numeric_limits<double>::infinity();
        for (std::size_t variant = 0; variant < ratios.size(); ++variant) {
            std::size_t serves = 0;
            double sum = 0;
            for (std::size_t shape = 0; shape < shapes; ++shape) {
                if (!served[shape] && ratios[variant][shape] <= slack * best[shape]) ++serves;
                sum += std::log(ratios[variant][shape]);
            }
            if (serves > most_served || (serves == most_served && sum < smallest)) {
                winner = variant, most_served = serves, smallest = sum;
            }
        }
        chosen.push_back(winner);
        for (std::size_t shape = 0; shape < shapes; ++shape)
            served[shape] = served[shape] || ratios[winner][shape] <= slack * best[shape];
    }
    return chosen;
}

std::vector<TunedRow> run_final_selection(TuningSession &session) {
    const Pool pool = time_pool(session, candidates_to_compare(session));
    std::vector<std::size_t> allowed(pool.points.size());
    std::iota(allowed.begin(), allowed.end(), std::size_t{0});
    if (session.shapes() > 1) allowed = select_variants(pool.ratios, kVariantSlack, session.options.max_variants);
    std::vector<TunedRow> rows;
    std::vector<std::size_t> selected;
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s)
        rows.push_back(compare_pairs(session, s, still_correct(session, candidates_for(pool, allowed, s)), selected));
    // A winner that failed on a later shape is replaced.
    for (std::size_t s = 0; s < rows.size() && !session.stopped(); ++s) {
        if (!rows[s].win || session.candidates.count(rows[s].point) > 0) continue;
        selected = still_correct(session, selected);
        rows[s] = compare_pairs(session, s, still_correct(session, candidates_for(pool, allowed, s)), selected);
    }
    return rows;
}

}  // namespace flashwright
