// What the tuner writes down as it goes: a line of the journal each. docs/schemas/journal-2.schema.json describes them.
#pragma once

#include "tuner/comparison/paired_statistics.h"
#include "tuner/comparison/verdict.h"

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace flashwright {

using Configuration = std::map<std::string, int>;  // tile parameters by name

struct KernelId {
    std::string op, dtype, isa;
};
inline bool operator==(const KernelId &a, const KernelId &b) {
    return a.op == b.op && a.dtype == b.dtype && a.isa == b.isa;
}

struct ShapeTiming {
    double ratio = 1;             // of the candidate's time over the baseline's
    std::vector<double> seconds;  // of one call, by round; empty where another candidate has the same code
};

// What became of one candidate.
struct CandidateEntry {
    KernelId kernel;
    Configuration configuration;
    bool baseline = false;
    Verdict verdict = Verdict::ok;
    bool compiling = false;  // it failed while it was compiled
    std::string detail;      // of a failure
    std::string failed_on;   // the shape; empty: before any was timed
    double compile_seconds = 0, check_seconds = 0;
    std::optional<double>
        error;  // the largest, in units of the tolerance; infinite: the kernel wrote beside its outputs
    std::string shared_object;
    std::optional<Configuration> duplicate_of;  // the candidate with the same code
    std::map<std::string, ShapeTiming> shapes;
};

struct NoiseEntry {
    KernelId kernel;
    std::map<std::string, double> noise_floor;  // by shape
};

struct ComparedCandidate {
    Configuration configuration;
    PairedVerdict verdict;
};

// The paired comparison of candidates with the baseline on a shape.
struct ComparisonEntry {
    KernelId kernel;
    std::string gpu_kernel;  // its name; empty for a CPU kernel
    std::string shape;       // several, separated by spaces, for a GPU kernel
    double noise_floor = 0;
    int pairs = 0;
    bool win = false;
    Configuration winner;  // the baseline for a tie
    std::vector<ComparedCandidate> candidates;
};

using JournalEntry = std::variant<CandidateEntry, NoiseEntry, ComparisonEntry>;

// A number, or "infinite", which JSON has no number for.
nlohmann::json error_json(double error);

// from_json throws nlohmann::json::exception or std::invalid_argument for what is no such record.
void to_json(nlohmann::json &json, const ShapeTiming &timing);
void from_json(const nlohmann::json &json, ShapeTiming &timing);
void to_json(nlohmann::json &json, const CandidateEntry &entry);
void from_json(const nlohmann::json &json, CandidateEntry &entry);
void to_json(nlohmann::json &json, const NoiseEntry &entry);
void from_json(const nlohmann::json &json, NoiseEntry &entry);
void to_json(nlohmann::json &json, const ComparisonEntry &entry);
void from_json(const nlohmann::json &json, ComparisonEntry &entry);
void to_json(nlohmann::json &json, const JournalEntry &entry);
void from_json(const nlohmann::json &json, JournalEntry &entry);

}  // namespace flashwright
