#include "recorded_space.h"

#include "kernels/tile_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace flashwright {
namespace {

KernelId kernel_of(const TuningResult &result) { return {result.op, result.dtype, result.isa}; }

// In the order of the kernel's parameters, unknown ones last.
std::vector<std::string> parameters_of(const std::string &op, const Configuration &configuration) {
    std::vector<std::string> names;
    for (const TileParameter &parameter : tile_space_of(op).parameters) {
        if (configuration.count(parameter.name) > 0) names.emplace_back(parameter.name);
    }
    for (const auto &[name, value] : configuration) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

RecordedCandidate candidate_of(const TuningResult &result, const std::vector<std::string> &parameters) {
    RecordedCandidate candidate = {{}, result};
    for (const std::string &name : parameters) candidate.point.push_back(result.configuration.at(name));
    return candidate;
}

std::vector<RecordedSpace> recorded_spaces(const TuningResults &results) {
    std::vector<RecordedSpace> spaces;
    for (const TuningResult &result : results.results) {
        if (result.isa.empty() || !result.shape)
            throw std::runtime_error("expected results of CPU kernels, got a result without x_isa or x_shape");
        const bool known = std::any_of(spaces.begin(), spaces.end(), [&](const RecordedSpace &space) {
            return space.kernel == kernel_of(result) && space.shape == *result.shape;
        });
        if (!result.shape->empty() && !known)
            spaces.push_back({kernel_of(result), *result.shape, parameters_of(result.op, result.configuration), {}});
    }
    // A failure before any shape was timed belongs to every shape.
    for (const TuningResult &result : results.results) {
        for (RecordedSpace &space : spaces) {
            if (space.kernel == kernel_of(result) && (result.shape->empty() || *result.shape == space.shape))
                space.candidates.push_back(candidate_of(result, space.parameters));
        }
    }
    return spaces;
}

}  // namespace

RecordedRun read_recorded_run(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    try {
        RecordedRun run;
        nlohmann::ordered_json::parse(file).get_to(run.results);
        run.spaces = recorded_spaces(run.results);
        return run;
    } catch (const std::exception &error) {
        throw std::runtime_error(fmt::format("{}: expected results of flashwright tune: {}", path, error.what()));
    }
}

}  // namespace flashwright
