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

using nlohmann::json;

// In the order of the kernel's parameters, not of the alphabet.
std::vector<std::string> parameters_of(const std::string &op, const json &configuration) {
    std::vector<std::string> names;
    for (const TileParameter &parameter : tile_space_of(op).parameters) {
        if (configuration.contains(parameter.name)) names.emplace_back(parameter.name);
    }
    for (const auto &[name, value] : configuration.items()) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

RecordedTrial trial_of(const json &result, const std::vector<std::string> &parameters) {
    RecordedTrial trial;
    for (const std::string &name : parameters) trial.point.push_back(result.at("configuration").at(name));
    trial.verdict = result.value("x_verdict", result.at("invalidity").get<std::string>());
    trial.detail = result.value("x_detail", "");
    trial.is_default = result.value("x_default", false);
    const json &times = result.at("times");
    trial.compile_milliseconds = times.value("compilation_time", 0.0);
    trial.check_milliseconds = times.value("validation", 0.0);
    trial.runtimes = times.value("runtimes", std::vector<double>{});
    for (const json &measurement : result.value("measurements", json::array())) {
        if (measurement.at("name") == "ratio") trial.ratio = measurement.at("value");
        if (measurement.at("name") == "time") trial.milliseconds = measurement.at("value");
    }
    return trial;
}

bool is_of(const RecordedSpace &space, const json &result) {
    return space.op == result.at("x_op") && space.dtype == result.at("x_dtype") && space.isa == result.at("x_isa");
}

RecordedRun run_of(const json &file) {
    RecordedRun run;
    run.metadata = file.at("metadata");
    for (const json &result : file.at("results")) {
        const std::string shape = result.at("x_shape");
        const auto known = std::find_if(run.spaces.begin(), run.spaces.end(), [&](const RecordedSpace &space) {
            return is_of(space, result) && space.shape == shape;
        });
        if (shape.empty() || known != run.spaces.end()) continue;
        run.spaces.push_back({result.at("x_op"),
                              result.at("x_dtype"),
                              result.at("x_isa"),
                              shape,
                              parameters_of(result.at("x_op"), result.at("configuration")),
                              {}});
    }
    // What failed belongs to every shape.
    for (const json &result : file.at("results")) {
        const std::string shape = result.at("x_shape");
        for (RecordedSpace &space : run.spaces) {
            if (is_of(space, result) && (shape.empty() || shape == space.shape))
                space.trials.push_back(trial_of(result, space.parameters));
        }
    }
    return run;
}

}  // namespace

RecordedRun read_results(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    try {
        return run_of(json::parse(file));
    } catch (const std::exception &error) {
        throw std::runtime_error(fmt::format("{}: expected results of flashwright tune: {}", path, error.what()));
    }
}

}  // namespace flashwright
