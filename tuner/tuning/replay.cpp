#include "replay.h"

#include "strategy.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr std::size_t kBatch = 8;  // as the tuner's

// Where the tuner would start: the default, and what the model of that machine says.
std::vector<std::size_t> starts_of(const RecordedSpace &recorded, const SearchSpace &space,
                                   const nlohmann::json &metadata) {
    std::vector<std::size_t> starts;
    for (const RecordedTrial &trial : recorded.trials) {
        if (trial.is_default) starts.push_back(space.find(trial.point));
    }
    const nlohmann::json soft =
        metadata.value("x_machine", nlohmann::json::object()).value("soft", nlohmann::json::object());
    const CpuSimdMachine machine =
        cpu_simd_machine(recorded.isa, recorded.dtype == "f64" ? 8 : 4, soft.value("l1_kib", 32) * std::int64_t{1024},
                         soft.value("l2_kib", 256) * std::int64_t{1024});
    for (const CpuSimdTiles &tiles : forward_starts(machine)) {
        const std::size_t point = space.find(point_of(tiles));
        if (point < space.size()) starts.push_back(point);
    }
    return starts;
}

}  // namespace

std::vector<double> regret_curve(const RecordedSpace &recorded, const std::string &strategy, std::uint32_t seed,
                                 std::size_t candidates, const nlohmann::json &metadata) {
    std::vector<std::vector<int>> points;
    std::vector<bool> run_time;
    for (const RecordedTrial &trial : recorded.trials) points.push_back(trial.point);
    for (const std::string &name : recorded.parameters) run_time.push_back(name == "block_k");
    const SearchSpace space(recorded.parameters, run_time, points);
    std::vector<double> ratios(space.size(), 0);
    double best = std::numeric_limits<double>::infinity();
    for (const RecordedTrial &trial : recorded.trials) {
        ratios[space.find(trial.point)] = trial.ratio;
        if (trial.ratio > 0) best = std::min(best, trial.ratio);
    }
    const auto walk = make_strategy(strategy, space, starts_of(recorded, space, metadata), seed);
    SearchHistory history(space.size(), 1);
    std::vector<double> curve;
    while (curve.size() < candidates) {
        const std::vector<std::size_t> batch = walk->propose(history, std::min(kBatch, candidates - curve.size()));
        if (batch.empty()) break;
        for (const std::size_t point : batch) {
            history.add(point, ratios[point] > 0 ? std::vector<double>{ratios[point]} : std::vector<double>{});
            curve.push_back(history.best(0) / best - 1);
        }
    }
    return curve;
}

}  // namespace flashwright
