// The results file: every measurement of a run, in the T4 format of the autotuning community. Members of our own start
// with x_; docs/schemas/results-2.schema.json describes them.
#pragma once

#include "journal_entry.h"
#include "tuner/candidates/candidate_builder.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace flashwright {

struct Measurement {
    std::string name;
    double value;
    std::string unit;
};

// One configuration on one shape, or a prediction for one architecture.
struct TuningResult {
    Configuration configuration;
    double compile_milliseconds = 0, check_milliseconds = 0;
    std::vector<double> runtimes;  // milliseconds of one call, by round
    std::string invalidity;        // T4's word
    bool correct = false;          // false also where nothing was run
    std::vector<Measurement> measurements;
    std::string op, dtype, isa;
    std::optional<std::string> shape;         // empty for a failure before any was timed; none for a prediction
    std::string verdict;                      // a Verdict's name, or spill
    std::string kernel;                       // of a GPU kernel: its name
    std::string basis, device;                // of a GPU kernel: measured, with the device, or predicted
    std::optional<std::string> architecture;  // of a prediction; empty for a failure before any was assembled
    std::string detail;
    std::optional<double> error;
    std::optional<Configuration> duplicate_of;
    bool baseline = false;

    double ratio() const { return measured("ratio"); }  // of the baseline's time; 0: none
    double milliseconds() const { return measured("time"); }

 private:
    double measured(const char *name) const;
};

struct TuningResults {
    nlohmann::ordered_json machine, toolchain;
    std::vector<NoiseEntry> noise_floors;
    std::vector<ComparisonEntry> comparisons;
    std::vector<TuningResult> results;
};

// from_json throws nlohmann::json::exception or std::runtime_error for what is no such file.
void to_json(nlohmann::ordered_json &json, const TuningResult &result);
void from_json(const nlohmann::ordered_json &json, TuningResult &result);
void to_json(nlohmann::ordered_json &json, const TuningResults &results);
void from_json(const nlohmann::ordered_json &json, TuningResults &results);

// The last entry of each configuration and shape counts: a resumed run may have measured it again.
TuningResults results_of(const std::vector<JournalEntry> &entries, const GeneratorProgram &generator);

// The entry's result on a shape; `timing` is null for a failure.
TuningResult result_of(const CandidateEntry &entry, const std::string &shape, const ShapeTiming *timing);

}  // namespace flashwright
