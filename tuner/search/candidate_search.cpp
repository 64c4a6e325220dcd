#include "candidate_search.h"

#include "strategy.h"
#include "support/clocks.h"
#include "tuner/candidates/candidate_batch.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashwright {
namespace {

// The default, winners of elsewhere, what a model of the machine says.
std::vector<std::size_t> starts(const TuningSession &session, const std::vector<CpuSimdTiles> &warm_starts) {
    const TileSpace &tiles = session.family.space();
    std::vector<CpuSimdTiles> all = warm_starts;
    const std::vector<CpuSimdTiles> by_model = tiles.starts(session.family.machine());
    all.insert(all.end(), by_model.begin(), by_model.end());
    std::vector<std::size_t> starts = {session.default_point};
    for (const CpuSimdTiles &choice : all) {
        const std::size_t point = session.space.find(tiles.point_of(choice));
        if (point < session.space.size()) starts.push_back(point);
    }
    return starts;
}

double finals_seconds(const TuningSession &session) {
    const double halving = 4.0 * kFinalists * kHalvingRounds, pool = kDuellists * kPoolRounds * 2.0;
    const double duel = 4.0 * kPlacements * (kPairs + 1) * kDuellists;
    double samples = 0;  // one of each shape
    for (const double seconds : session.default_seconds) samples += std::max(seconds, 4e-3);
    return (halving + pool + duel) * session.busy * samples;
}

// Notes how long ago a shape's best time went down.
class Patience {
 public:
    explicit Patience(const SearchHistory &history)
        : history_(history), best_(history.shapes(), 1), last_gain_(history.order().size()) {}

    std::size_t candidates_since_gain() {
        for (std::size_t s = 0; s < best_.size(); ++s) {
            if (history_.best(s) >= kBetter * best_[s]) continue;
            best_[s] = history_.best(s);
            last_gain_ = history_.order().size();
        }
        return history_.order().size() - last_gain_;
    }

 private:
    const SearchHistory &history_;
    std::vector<double> best_;
    std::size_t last_gain_;
};

std::string progress_text(const TuningSession &session, std::size_t planned, double deadline) {
    double best = 1;
    std::size_t at = 0;
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        if (session.history.best(s) < best) best = session.history.best(s), at = s;
    }
    std::string text = fmt::format("{} of {} candidates, best {:.1f} ± {:.1f} % of the default's time",
                                   session.history.order().size(), planned, 100 * best, 100 * session.noise_floor[at]);
    for (const auto &[verdict, count] : session.failures) text += fmt::format(", {} {}", count, verdict);
    const int left = static_cast<int>(std::max(0.0, deadline - wall_seconds()));
    return text + fmt::format(", at most {}:{:02} left", left / 60, left % 60);
}

}  // namespace

void search(TuningSession &session, const std::vector<CpuSimdTiles> &warm_starts, double deadline) {
    const TuneOptions &options = session.options;
    const SearchHistory &history = session.history;
    const auto strategy = make_strategy(options.strategy, session.space, starts(session, warm_starts), options.seed);
    const std::size_t planned =
        options.candidates > 0 ? std::min(options.candidates, session.space.size()) : session.space.size();
    Patience patience(history);
    double batch_seconds = 0;  // of the last one
    while (!session.stopped() && history.order().size() < planned) {
        if (wall_seconds() + batch_seconds + finals_seconds(session) > deadline) break;
        if (patience.candidates_since_gain() > options.patience) break;
        const std::vector<std::size_t> batch =
            strategy->propose(history, std::min(kBatch, planned - history.order().size()));
        if (batch.empty()) break;
        const double wall = wall_seconds();
        try_batch(session, batch);
        batch_seconds = wall_seconds() - wall;
        session.step(progress_text(session, planned, deadline));
    }
}

}  // namespace flashwright
