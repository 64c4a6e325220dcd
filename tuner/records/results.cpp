#include "results.h"

#include "measure/statistics.h"
#include "winners.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>

namespace flashwright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char *kFormat = "1.0.0";  // of T4
constexpr int kVersion = 2;               // of the x_ members; 1 had other names
constexpr const char *kInfinite = "infinite";

const char *invalidity_of(Verdict verdict, bool compiling) {
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

ordered_json times_json(const TuningResult &result) {
    double benchmark = 0;
    for (const double milliseconds : result.runtimes) benchmark += milliseconds;
    return {{"compilation_time", result.compile_milliseconds},
            {"compilation", result.compile_milliseconds},
            {"benchmark", benchmark},
            {"framework", 0},
            {"search_algorithm", 0},
            {"validation", result.check_milliseconds},
            {"runtimes", result.runtimes}};
}

ordered_json measurements_json(const std::vector<Measurement> &measurements) {
    ordered_json list = ordered_json::array();
    for (const Measurement &measurement : measurements) {
        const bool whole = std::floor(measurement.value) == measurement.value && measurement.value < 1e15;
        const ordered_json value =
            whole ? ordered_json(std::llround(measurement.value)) : ordered_json(measurement.value);
        list.push_back({{"name", measurement.name}, {"value", value}, {"unit", measurement.unit}});
    }
    return list;
}

std::vector<Measurement> measurements_of(const ordered_json &list) {
    std::vector<Measurement> measurements;
    for (const ordered_json &measurement : list)
        measurements.push_back({measurement.at("name"), measurement.at("value"), measurement.value("unit", "")});
    return measurements;
}

// Text members, under their names in the file.
template <typename Result, typename F>
void for_texts(Result &result, F f) {
    f("x_op", result.op);
    f("x_dtype", result.dtype);
    f("x_isa", result.isa);
    f("x_kernel", result.kernel);
    f("x_basis", result.basis);
    f("x_device", result.device);
    f("x_detail", result.detail);
}

template <typename Record>
ordered_json list_json(const std::vector<Record> &records) {
    ordered_json list = ordered_json::array();
    for (const Record &record : records) list.push_back(ordered_json(json(record)));
    return list;
}

template <typename Record>
std::vector<Record> records_of(const ordered_json &metadata, const char *name) {
    std::vector<Record> records;
    for (const ordered_json &record : metadata.value(name, ordered_json::array()))
        records.push_back(json(record).get<Record>());
    return records;
}

}  // namespace

double TuningResult::measured(const char *name) const {
    for (const Measurement &measurement : measurements) {
        if (measurement.name == name) return measurement.value;
    }
    return 0;
}

void to_json(nlohmann::ordered_json &value, const TuningResult &result) {
    value = {{"configuration", result.configuration}, {"objectives", {"ratio"}},
             {"times", times_json(result)},           {"invalidity", result.invalidity},
             {"correctness", result.correct ? 1 : 0}, {"measurements", measurements_json(result.measurements)}};
    for_texts(result, [&](const char *name, const std::string &text) {
        if (!text.empty()) value[name] = text;
    });
    if (result.shape) value["x_shape"] = *result.shape;
    if (result.architecture) value["x_arch"] = *result.architecture;
    value["x_verdict"] = result.verdict;
    if (result.error) value["x_error"] = std::isfinite(*result.error) ? ordered_json(*result.error) : kInfinite;
    if (result.duplicate_of) value["x_duplicate_of"] = *result.duplicate_of;
    if (result.baseline) value["x_baseline"] = true;
}

void from_json(const nlohmann::ordered_json &value, TuningResult &result) {
    result = {};
    value.at("configuration").get_to(result.configuration);
    const ordered_json &times = value.at("times");
    result.compile_milliseconds = times.value("compilation_time", 0.0);
    result.check_milliseconds = times.value("validation", 0.0);
    result.runtimes = times.value("runtimes", std::vector<double>{});
    value.at("invalidity").get_to(result.invalidity);
    result.correct = value.value("correctness", 0.0) > 0;
    result.measurements = measurements_of(value.value("measurements", ordered_json::array()));
    for_texts(result, [&](const char *name, std::string &text) { text = value.value(name, ""); });
    if (value.contains("x_shape")) result.shape = value["x_shape"].get<std::string>();
    if (value.contains("x_arch")) result.architecture = value["x_arch"].get<std::string>();
    result.verdict = value.value("x_verdict", result.invalidity);
    if (value.contains("x_error"))
        result.error =
            value["x_error"] == kInfinite ? std::numeric_limits<double>::infinity() : value["x_error"].get<double>();
    if (value.contains("x_duplicate_of")) result.duplicate_of = value["x_duplicate_of"].get<Configuration>();
    result.baseline = value.value("x_baseline", false);
}

void to_json(nlohmann::ordered_json &value, const TuningResults &results) {
    value = {{"schema_version", kFormat},
             {"metadata",
              {{"timeunit", "milliseconds"},
               {"x_version", kVersion},
               {"x_machine", results.machine},
               {"x_toolchain", results.toolchain},
               {"x_noise_floors", list_json(results.noise_floors)},
               {"x_comparisons", list_json(results.comparisons)}}},
             {"results", results.results}};
}

void from_json(const nlohmann::ordered_json &value, TuningResults &results) {
    const ordered_json &metadata = value.at("metadata");
    if (metadata.contains("x_machine") && metadata.value("x_version", ordered_json(1)) != kVersion)
        throw std::runtime_error(fmt::format("x_version: expected {}, got an older one; tune again", kVersion));
    results.machine = metadata.value("x_machine", ordered_json::object());
    results.toolchain = metadata.value("x_toolchain", ordered_json::object());
    results.noise_floors = records_of<NoiseEntry>(metadata, "x_noise_floors");
    results.comparisons = records_of<ComparisonEntry>(metadata, "x_comparisons");
    value.at("results").get_to(results.results);
}

TuningResult result_of(const CandidateEntry &entry, const std::string &shape, const ShapeTiming *timing) {
    TuningResult result;
    result.configuration = entry.configuration;
    result.compile_milliseconds = 1e3 * entry.compile_seconds;
    result.check_milliseconds = 1e3 * entry.check_seconds;
    result.invalidity = invalidity_of(entry.verdict, entry.compiling);
    result.correct = entry.verdict == Verdict::ok || entry.verdict == Verdict::slow;
    if (timing != nullptr) {
        for (const double seconds : timing->seconds) result.runtimes.push_back(1e3 * seconds);
        if (!timing->seconds.empty()) result.measurements.push_back({"time", 1e3 * quarter(timing->seconds), "ms"});
        result.measurements.push_back({"ratio", timing->ratio, ""});
    }
    result.op = entry.kernel.op;
    result.dtype = entry.kernel.dtype;
    result.isa = entry.kernel.isa;
    result.shape = shape;
    result.verdict = verdict_name(entry.verdict);
    result.detail = entry.detail;
    result.error = entry.error;
    result.duplicate_of = entry.duplicate_of;
    result.baseline = entry.baseline;
    return result;
}

TuningResults results_of(const std::vector<JournalEntry> &entries, const GeneratorProgram &generator) {
    TuningResults all;
    all.machine = machine_json();
    all.toolchain = toolchain_json(generator);
    std::map<std::tuple<std::string, std::string, std::string, std::string, Configuration>, std::size_t> places;
    const auto put = [&](const TuningResult &result) {
        const auto [place, added] =
            places.emplace(std::make_tuple(result.op, result.dtype, result.isa, *result.shape, result.configuration),
                           all.results.size());
        if (added) {
            all.results.push_back(result);
        } else {
            all.results[place->second] = result;
        }
    };
    for (const JournalEntry &entry : entries) {
        if (const auto *comparison = std::get_if<ComparisonEntry>(&entry)) all.comparisons.push_back(*comparison);
        if (const auto *noise = std::get_if<NoiseEntry>(&entry)) all.noise_floors.push_back(*noise);
        const auto *candidate = std::get_if<CandidateEntry>(&entry);
        if (candidate == nullptr) continue;
        // A failure belongs to the shape it happened on, if any was timed by then.
        if (candidate->shapes.empty()) put(result_of(*candidate, candidate->failed_on, nullptr));
        for (const auto &[shape, timing] : candidate->shapes) put(result_of(*candidate, shape, &timing));
    }
    return all;
}

}  // namespace flashwright
