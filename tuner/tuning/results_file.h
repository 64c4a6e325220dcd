// The results of a run in the T4 format of the autotuning community, and in Kernel Tuner's cache form.
#pragma once

#include "candidate_builder.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace flashwright {

// From the entries of a journal. One result for each configuration and shape; one without a shape for each that failed.
nlohmann::ordered_json t4_results(const std::vector<nlohmann::json> &entries, const GeneratorProgram &generator);

}  // namespace flashwright
