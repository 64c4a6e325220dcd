#include "replay.h"

#include "kernels/tile_spaces.h"
#include "strategy.h"
#include "tuner/comparison/protocol.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

bool is_run_time(const std::string &op, const std::string &name) {
    const auto &parameters = tile_space_of(op).parameters;
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const TileParameter &parameter) { return parameter.run_time && name == parameter.name; });
}

// Where the tuner would start: the default, and what the model of that machine says.
std::vector<std::size_t> starts_of(const RecordedSpace &recorded, const SearchSpace &space,
                                   const nlohmann::json &metadata) {
    std::vector<std::size_t> starts;
    for (const RecordedTrial &trial : recorded.trials) {
        if (trial.is_default) starts.push_back(space.find(trial.point));
    }
    const nlohmann::json soft =
        metadata.value("x_machine", nlohmann::json::object()).value("soft", nlohmann::json::object());
    const CpuSearchContext machine =
        cpu_search_context(recorded.isa, recorded.dtype == "f64" ? 8 : 4, soft.value("l1_kib", 32) * std::int64_t{1024},
                         soft.value("l2_kib", 256) * std::int64_t{1024});
    const TileSpace &tiles = tile_space_of(recorded.op);
    for (const CpuSimdTiles &choice : tiles.starts(machine)) {
        const std::size_t point = space.find(tiles.point_of(choice));
        if (point < space.size()) starts.push_back(point);
    }
    return starts;
}

SearchSpace space_of(const RecordedSpace &recorded) {
    std::vector<std::vector<int>> points;
    std::vector<bool> run_time;
    for (const RecordedTrial &trial : recorded.trials) points.push_back(trial.point);
    for (const std::string &name : recorded.parameters) run_time.push_back(is_run_time(recorded.op, name));
    return SearchSpace(recorded.parameters, run_time, points);
}

}  // namespace

std::vector<double> regret_curve(const RecordedSpace &recorded, const std::string &strategy, std::uint32_t seed,
                                 const ReplayLimits &limits, const nlohmann::json &metadata) {
    const SearchSpace space = space_of(recorded);
    std::vector<double> ratios(space.size(), 0);
    double best = std::numeric_limits<double>::infinity();
    for (const RecordedTrial &trial : recorded.trials) {
        ratios[space.find(trial.point)] = trial.ratio;
        if (trial.ratio > 0) best = std::min(best, trial.ratio);
    }
    const auto walk = make_strategy(strategy, space, starts_of(recorded, space, metadata), seed);
    SearchHistory history(space.size(), 1);
    std::set<std::size_t> compiled;
    std::vector<double> curve;
    while (curve.size() < limits.candidates) {
        const std::vector<std::size_t> batch =
            walk->propose(history, std::min(kBatch, limits.candidates - curve.size()));
        if (batch.empty()) break;
        for (const std::size_t point : batch) {
            compiled.insert(space.object_of(point));
            if (compiled.size() > limits.compilations) return curve;
            history.add(point, ratios[point] > 0 ? std::vector<double>{ratios[point]} : std::vector<double>{});
            curve.push_back(history.best(0) / best - 1);
        }
    }
    return curve;
}

}  // namespace flashwright
