#include "paired_comparison.h"

#include "final_candidates.h"
#include "protocol.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace flashwright {
namespace {

using nlohmann::json;

TunedRow default_row(const TuningSession &session, std::size_t shape) {
    TunedRow row;
    row.shape = session.options.shapes[shape];
    row.point = session.default_point;
    row.noise_floor = session.noise_floor[shape];
    return row;
}

// Each as the row that it would be.
std::vector<TunedRow> judge(const TuningSession &session, std::size_t shape, const std::vector<std::size_t> &points,
                            const std::vector<std::vector<double>> &log_ratios) {
    std::vector<TunedRow> judged;
    for (const PairedVerdict &verdict : judge_pairs(log_ratios, session.noise_floor[shape])) {
        TunedRow row = default_row(session, shape);
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

// Of those that cannot be told apart: one that ships anyway, then the smaller tile, then the order of the space.
TunedRow preferred(const TuningSession &session, std::size_t shape, const std::vector<TunedRow> &winners,
                   const std::vector<std::size_t> &shipped) {
    const double best = fastest(winners).ratio;
    const auto rank = [&](const TunedRow &w) {
        const bool apart = w.ratio > best * (1 + least_gain(session.noise_floor[shape]));
        const bool additional = std::find(shipped.begin(), shipped.end(), w.point) == shipped.end();
        const CpuSimdTiles tiles = session.tiles(w.point);
        return std::make_tuple(apart, additional, tiles.block_q * tiles.block_k, w.point);
    };
    return *std::min_element(winners.begin(), winners.end(),
                             [&](const TunedRow &a, const TunedRow &b) { return rank(a) < rank(b); });
}

void record(TuningSession &session, const TunedRow &row, const std::vector<TunedRow> &judged) {
    json contestants = json::array();
    for (const TunedRow &contestant : judged)
        contestants.push_back({{"configuration", session.configuration(contestant.point)},
                               {"ratio", contestant.ratio},
                               {"interval", {contestant.interval.low, contestant.interval.high}},
                               {"p", contestant.p},
                               {"win", contestant.win}});
    json entry = session.kernel_entry();
    entry["duel"] = to_string(row.shape);
    entry["noise_floor"] = row.noise_floor;
    entry["pairs"] = row.pairs;
    entry["contestants"] = contestants;
    entry["verdict"] = row.win ? "win" : "tie";
    entry["winner"] = session.configuration(row.point);
    session.journal.append(entry);
}

}  // namespace

TunedRow duel(TuningSession &session, std::size_t shape, std::vector<std::size_t> points,
              std::vector<std::size_t> &shipped) {
    TunedRow row = default_row(session, shape);
    if (points.empty()) return row;
    session.step("duel on " + session.shape_name(shape));
    const PairTimes times = paired_with_default(session.contest(), points, static_cast<int>(shape), kPlacements);
    if (points.empty() || session.stopped()) return row;
    const std::vector<TunedRow> judged = judge(session, shape, points, times.log_ratios);
    std::vector<TunedRow> winners;
    std::copy_if(judged.begin(), judged.end(), std::back_inserter(winners), [](const TunedRow &r) { return r.win; });
    if (winners.empty()) {
        row = fastest(judged);
        row.point = session.default_point;
    } else {
        row = preferred(session, shape, winners, shipped);
        if (std::find(shipped.begin(), shipped.end(), row.point) == shipped.end()) shipped.push_back(row.point);
    }
    record(session, row, judged);
    return row;
}

}  // namespace flashwright
