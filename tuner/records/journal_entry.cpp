#include "journal_entry.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::json;

constexpr const char *kKind = "entry", *kCandidate = "candidate", *kNoise = "noise floor", *kComparison = "comparison";
constexpr const char *kInfinite = "infinite";

json entry_of(const char *kind, const KernelId &kernel) {
    return {{kKind, kind}, {"op", kernel.op}, {"dtype", kernel.dtype}, {"isa", kernel.isa}};
}

KernelId kernel_of(const json &entry) { return {entry.at("op"), entry.at("dtype"), entry.at("isa")}; }

double error_of(const json &value) {
    return value == kInfinite ? std::numeric_limits<double>::infinity() : value.get<double>();
}

Interval interval_of(const json &value) {
    if (value.size() != 2) throw std::invalid_argument("interval: expected two numbers");
    return {value.at(0), value.at(1)};
}

}  // namespace

nlohmann::json error_json(double error) { return std::isfinite(error) ? json(error) : json(kInfinite); }

void to_json(nlohmann::json &result, const ShapeTiming &timing) {
    result = {{"ratio", timing.ratio}};
    if (!timing.seconds.empty()) result["seconds"] = timing.seconds;
}

void from_json(const nlohmann::json &value, ShapeTiming &timing) {
    value.at("ratio").get_to(timing.ratio);
    timing.seconds = value.value("seconds", std::vector<double>{});
}

void to_json(nlohmann::json &result, const CandidateEntry &entry) {
    result = entry_of(kCandidate, entry.kernel);
    result["configuration"] = entry.configuration;
    result["verdict"] = verdict_name(entry.verdict);
    result["compile_seconds"] = entry.compile_seconds;
    result["check_seconds"] = entry.check_seconds;
    if (entry.baseline) result["baseline"] = true;
    if (entry.compiling) result["compiling"] = true;
    if (!entry.detail.empty()) result["detail"] = entry.detail;
    if (!entry.failed_on.empty()) result["failed_on"] = entry.failed_on;
    if (entry.error) result["error"] = error_json(*entry.error);
    if (!entry.shared_object.empty()) result["shared_object"] = entry.shared_object;
    if (entry.duplicate_of) result["duplicate_of"] = *entry.duplicate_of;
    if (!entry.shapes.empty()) result["shapes"] = entry.shapes;
}

void from_json(const nlohmann::json &value, CandidateEntry &entry) {
    entry = {};
    entry.kernel = kernel_of(value);
    value.at("configuration").get_to(entry.configuration);
    entry.verdict = verdict_named(value.at("verdict").get<std::string>());
    value.at("compile_seconds").get_to(entry.compile_seconds);
    value.at("check_seconds").get_to(entry.check_seconds);
    entry.baseline = value.value("baseline", false);
    entry.compiling = value.value("compiling", false);
    entry.detail = value.value("detail", "");
    entry.failed_on = value.value("failed_on", "");
    entry.shared_object = value.value("shared_object", "");
    if (value.contains("error")) entry.error = error_of(value["error"]);
    if (value.contains("duplicate_of")) entry.duplicate_of = value["duplicate_of"].get<Configuration>();
    if (value.contains("shapes")) value["shapes"].get_to(entry.shapes);
}

void to_json(nlohmann::json &result, const NoiseEntry &entry) {
    result = entry_of(kNoise, entry.kernel);
    result["noise_floor"] = entry.noise_floor;
}

void from_json(const nlohmann::json &value, NoiseEntry &entry) {
    entry.kernel = kernel_of(value);
    value.at("noise_floor").get_to(entry.noise_floor);
}

void to_json(nlohmann::json &result, const ComparisonEntry &entry) {
    json candidates = json::array();
    for (const ComparedCandidate &candidate : entry.candidates) {
        const PairedVerdict &verdict = candidate.verdict;
        candidates.push_back({{"configuration", candidate.configuration},
                              {"ratio", verdict.ratio},
                              {"interval", {verdict.interval.low, verdict.interval.high}},
                              {"p", verdict.p},
                              {"win", verdict.win}});
    }
    result = entry_of(kComparison, entry.kernel);
    if (!entry.gpu_kernel.empty()) result["kernel"] = entry.gpu_kernel;
    result["shape"] = entry.shape;
    result["noise_floor"] = entry.noise_floor;
    result["pairs"] = entry.pairs;
    result["candidates"] = candidates;
    result["verdict"] = entry.win ? "win" : "tie";
    result["winner"] = entry.winner;
}

void from_json(const nlohmann::json &value, ComparisonEntry &entry) {
    entry = {};
    entry.kernel = kernel_of(value);
    entry.gpu_kernel = value.value("kernel", "");
    value.at("shape").get_to(entry.shape);
    value.at("noise_floor").get_to(entry.noise_floor);
    value.at("pairs").get_to(entry.pairs);
    entry.win = value.at("verdict") == "win";
    value.at("winner").get_to(entry.winner);
    for (const json &member : value.at("candidates")) {
        ComparedCandidate candidate;
        member.at("configuration").get_to(candidate.configuration);
        candidate.verdict.ratio = member.at("ratio");
        candidate.verdict.interval = interval_of(member.at("interval"));
        candidate.verdict.p = member.at("p");
        candidate.verdict.win = member.at("win");
        candidate.verdict.pairs = entry.pairs;
        entry.candidates.push_back(candidate);
    }
}

void to_json(nlohmann::json &result, const JournalEntry &entry) {
    std::visit([&](const auto &record) { to_json(result, record); }, entry);
}

void from_json(const nlohmann::json &value, JournalEntry &entry) {
    const std::string kind = value.at(kKind);
    if (kind == kCandidate) {
        entry = value.get<CandidateEntry>();
    } else if (kind == kNoise) {
        entry = value.get<NoiseEntry>();
    } else if (kind == kComparison) {
        entry = value.get<ComparisonEntry>();
    } else {
        throw std::invalid_argument(
            fmt::format("{}: expected {}, {} or {}, got {}", kKind, kCandidate, kNoise, kComparison, kind));
    }
}

}  // namespace flashwright
