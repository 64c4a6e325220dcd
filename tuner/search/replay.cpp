#include "replay.h"

#include "kernels/dtype.h"
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

int element_size(const RecordedSpace &recorded) {
    const Dtype *dtype = find_dtype(recorded.kernel.dtype);
    if (dtype == nullptr) throw std::runtime_error("x_dtype: unknown type " + recorded.kernel.dtype);
    return accumulation_bytes(*dtype);
}

// Where the tuner would start: the baseline, and what the model of that machine suggests.
std::vector<std::size_t> starts_of(const RecordedSpace &recorded, const SearchSpace &space,
                                   const nlohmann::ordered_json &machine_record) {
    std::vector<std::size_t> starts;
    for (const RecordedCandidate &candidate : recorded.candidates) {
        if (candidate.result.baseline) starts.push_back(space.find(candidate.point));
    }
    const nlohmann::ordered_json soft = machine_record.value("soft", nlohmann::ordered_json::object());
    const CpuSearchContext machine =
        cpu_search_context(recorded.kernel.isa, element_size(recorded), soft.value("l1_kib", 32) * std::int64_t{1024},
                           soft.value("l2_kib", 256) * std::int64_t{1024});
    const TileSpace &tiles = tile_space_of(recorded.kernel.op);
    for (const CpuTiles &choice : tiles.starts(machine)) {
        const std::size_t point = space.find(tiles.point_of(choice));
        if (point < space.size()) starts.push_back(point);
    }
    return starts;
}

SearchSpace space_of(const RecordedSpace &recorded) {
    std::vector<std::vector<int>> points;
    std::vector<bool> run_time;
    for (const RecordedCandidate &candidate : recorded.candidates) points.push_back(candidate.point);
    for (const std::string &name : recorded.parameters) run_time.push_back(is_run_time(recorded.kernel.op, name));
    return SearchSpace(recorded.parameters, run_time, points);
}

}  // namespace

std::vector<double> regret_curve(const RecordedSpace &recorded, const std::string &strategy, std::uint32_t seed,
                                 const ReplayLimits &limits, const nlohmann::ordered_json &machine_record) {
    const SearchSpace space = space_of(recorded);
    std::vector<double> ratios(space.size(), 0);
    double best = std::numeric_limits<double>::infinity();
    for (const RecordedCandidate &candidate : recorded.candidates) {
        const double ratio = candidate.result.ratio();
        ratios[space.find(candidate.point)] = ratio;
        if (ratio > 0) best = std::min(best, ratio);
    }
    const auto walk = make_strategy(strategy, space, starts_of(recorded, space, machine_record), seed);
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
