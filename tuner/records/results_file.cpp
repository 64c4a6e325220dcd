#include "results_file.h"

#include "measure/statistics.h"
#include "tuner/comparison/trials.h"
#include "winners.h"

#include <map>
#include <tuple>

namespace flashwright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char *kFormat = "1.0.0";

const char *invalidity(Verdict verdict, bool compiling) {
    switch (verdict) {
        case Verdict::ok:
        case Verdict::slow:
            return "correct";
        case Verdict::compile:
            return "compile";
        case Verdict::timeout:
            return compiling ? "compile" : "timeout";
        case Verdict::wrong:
            return "correctness";
        case Verdict::out_of_memory:
            return compiling ? "compile" : "runtime";
        case Verdict::crash:
        case Verdict::interrupted:
            return "runtime";
    }
    return "runtime";
}

ordered_json times_json(const json &entry, const std::vector<double> &seconds) {
    const double compilation = 1e3 * entry.value("compile_seconds", 0.0);
    std::vector<double> runtimes;
    double benchmark = 0;
    for (const double s : seconds) {
        runtimes.push_back(1e3 * s);
        benchmark += 1e3 * s;
    }
    return {{"compilation_time", compilation},
            {"compilation", compilation},
            {"benchmark", benchmark},
            {"framework", 0},
            {"search_algorithm", 0},
            {"validation", 1e3 * entry.value("check_seconds", 0.0)},
            {"runtimes", runtimes}};
}

}  // namespace

nlohmann::ordered_json t4_result(const json &entry, const std::string &shape, const json &timing) {
    const Verdict verdict = verdict_named(entry.value("verdict", ""));
    const auto seconds = timing.value("seconds", std::vector<double>{});
    ordered_json measurements = ordered_json::array();
    if (!seconds.empty()) measurements.push_back({{"name", "time"}, {"value", 1e3 * quarter(seconds)}, {"unit", "ms"}});
    if (timing.contains("ratio")) measurements.push_back({{"name", "ratio"}, {"value", timing["ratio"]}, {"unit", ""}});
    ordered_json result = {{"configuration", entry["trial"]},
                           {"objectives", {"ratio"}},
                           {"times", times_json(entry, seconds)},
                           {"invalidity", invalidity(verdict, entry.value("compiling", false))},
                           {"correctness", verdict == Verdict::ok || verdict == Verdict::slow ? 1 : 0},
                           {"measurements", measurements},
                           {"x_shape", shape},
                           {"x_verdict", entry["verdict"]}};
    for (const char *name : {"op", "dtype", "isa", "kernel", "basis", "device", "error", "detail", "duplicate_of"}) {
        if (entry.contains(name)) result[std::string("x_") + name] = entry[name];
    }
    if (entry.value("default", false)) result["x_default"] = true;
    return result;
}

nlohmann::ordered_json t4_results(const std::vector<nlohmann::json> &entries, const GeneratorProgram &generator) {
    ordered_json results = ordered_json::array(), duels = ordered_json::array(), floors = ordered_json::array();
    // The last word on a configuration counts: a resumed run may have measured it again.
    std::map<std::tuple<std::string, std::string>, std::size_t> place;
    const auto put = [&](const ordered_json &result) {
        const auto key = std::make_tuple(
            result["x_op"].dump() + result["x_dtype"].dump() + result["x_isa"].dump() + result["x_shape"].dump(),
            result["configuration"].dump());
        const auto [at, fresh] = place.emplace(key, results.size());
        if (fresh) {
            results.push_back(result);
        } else {
            results[at->second] = result;
        }
    };
    for (const json &entry : entries) {
        if (entry.contains("duel")) duels.push_back(ordered_json(entry));
        if (entry.contains("noise_floor") && !entry.contains("duel")) floors.push_back(ordered_json(entry));
        if (!entry.contains("trial")) continue;
        const json shapes = entry.value("shapes", json::object());
        // What failed on a shape is a result of that shape, what failed before any was timed of none.
        if (shapes.empty()) put(t4_result(entry, entry.value("failed_on", ""), json::object()));
        for (const auto &[shape, timing] : shapes.items()) put(t4_result(entry, shape, timing));
    }
    return {{"schema_version", kFormat},
            {"metadata",
             {{"timeunit", "milliseconds"},
              {"x_machine", machine_json()},
              {"x_toolchain", toolchain_json(generator)},
              {"x_noise_floors", floors},
              {"x_duels", duels}}},
            {"results", results}};
}

}  // namespace flashwright
