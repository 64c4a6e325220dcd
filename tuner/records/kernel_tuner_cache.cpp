#include "kernel_tuner_cache.h"

#include "tuner/comparison/trials.h"

#include <fmt/format.h>

#include <set>

namespace flashwright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// The names that Kernel Tuner gives to what has no time.
const char *error_name(const RecordedTrial &trial) {
    return verdict_named(trial.verdict) == Verdict::compile ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

ordered_json trial_json(const RecordedTrial &trial, const std::vector<std::string> &parameters) {
    ordered_json result;
    for (std::size_t p = 0; p < parameters.size(); ++p) result[parameters[p]] = trial.point[p];
    if (trial.milliseconds > 0) {
        result["time"] = trial.milliseconds;
        result["times"] = trial.runtimes;
    } else {
        result["time"] = error_name(trial);
        result["__error__"] = error_name(trial);
    }
    double benchmark = 0;
    for (const double time : trial.runtimes) benchmark += time;
    result["compile_time"] = trial.compile_milliseconds;
    result["verification_time"] = trial.check_milliseconds;
    result["benchmark_time"] = benchmark;
    result["strategy_time"] = 0;
    result["framework_time"] = 0;
    result["timestamp"] = "1970-01-01 00:00:00+00:00";
    return result;
}

}  // namespace

nlohmann::ordered_json kernel_tuner_cache(const RecordedSpace &space, const nlohmann::json &metadata) {
    ordered_json cache = ordered_json::object(), parameters;
    for (std::size_t p = 0; p < space.parameters.size(); ++p) {
        std::set<int> values;
        for (const RecordedTrial &trial : space.trials) values.insert(trial.point[p]);
        parameters[space.parameters[p]] = values;
    }
    for (const RecordedTrial &trial : space.trials) {
        // Candidates that were stopped as slow, or timed as another's copy, have no times of their own.
        if (trial.milliseconds == 0 && (trial.ratio > 0 || trial.verdict == "slow")) continue;
        cache[fmt::format("{}", fmt::join(trial.point, ","))] = trial_json(trial, space.parameters);
    }
    return {{"schema_version", "1.0.0"},
            {"device_name", metadata.value("x_machine", json::object()).value("exact", "unknown")},
            {"kernel_name", fmt::format("{}_{}_{}", space.op, space.dtype, space.isa)},
            {"problem_size", space.shape},
            {"tune_params_keys", space.parameters},
            {"tune_params", parameters},
            {"objective", "time"},
            {"cache", cache}};
}

}  // namespace flashwright
