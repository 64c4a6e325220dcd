// The results of a run in the T4 format of the autotuning community, and in Kernel Tuner's cache form.
#pragma once

#include "tuner/candidates/candidate_builder.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

// From the entries of a journal. One result for each configuration and shape; one without a shape for each that failed.
nlohmann::ordered_json t4_results(const std::vector<nlohmann::json> &entries, const GeneratorProgram &generator);

// One of them: of an entry on a shape, with its `seconds` and `ratio`.
nlohmann::ordered_json t4_result(const nlohmann::json &entry, const std::string &shape, const nlohmann::json &timing);

}  // namespace flashwright
