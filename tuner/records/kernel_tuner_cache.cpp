#include "report.h"

#include <fmt/format.h>

#include <set>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

// Kernel Tuner's name for a failure.
const char *error_name(const TuningResult &result) {
    return result.verdict == verdict_name(Verdict::compile) ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

ordered_json entry_json(const RecordedCandidate &candidate, const std::vector<std::string> &parameters) {
    const TuningResult &result = candidate.result;
    ordered_json entry;
    for (std::size_t p = 0; p < parameters.size(); ++p) entry[parameters[p]] = candidate.point[p];
    if (result.milliseconds() > 0) {
        entry["time"] = result.milliseconds();
        entry["times"] = result.runtimes;
    } else {
        entry["time"] = error_name(result);
        entry["__error__"] = error_name(result);
    }
    double benchmark = 0;
    for (const double time : result.runtimes) benchmark += time;
    entry["compile_time"] = result.compile_milliseconds;
    entry["verification_time"] = result.check_milliseconds;
    entry["benchmark_time"] = benchmark;
    entry["strategy_time"] = 0;
    entry["framework_time"] = 0;
    entry["timestamp"] = "1970-01-01 00:00:00+00:00";
    return entry;
}

}  // namespace

nlohmann::ordered_json kernel_tuner_cache(const RecordedSpace &space, const TuningResults &results) {
    ordered_json cache = ordered_json::object(), parameters;
    for (std::size_t p = 0; p < space.parameters.size(); ++p) {
        std::set<int> values;
        for (const RecordedCandidate &candidate : space.candidates) values.insert(candidate.point[p]);
        parameters[space.parameters[p]] = values;
    }
    for (const RecordedCandidate &candidate : space.candidates) {
        const TuningResult &result = candidate.result;
        // Slow candidates and duplicates have no times of their own.
        if (result.milliseconds() == 0 && (result.ratio() > 0 || result.verdict == verdict_name(Verdict::slow)))
            continue;
        cache[fmt::format("{}", fmt::join(candidate.point, ","))] = entry_json(candidate, space.parameters);
    }
    return {{"schema_version", "1.0.0"},
            {"device_name", results.machine.value("exact", "unknown")},
            {"kernel_name", fmt::format("{}_{}_{}", space.kernel.op, space.kernel.dtype, space.kernel.isa)},
            {"problem_size", space.shape},
            {"tune_params_keys", space.parameters},
            {"tune_params", parameters},
            {"objective", "time"},
            {"cache", cache}};
}

}  // namespace flashwright
