// What a results file is turned into: a page for people, and files for other tools.
#pragma once

#include "recorded_space.h"

#include <nlohmann/json.hpp>

#include <string>

namespace flashwright {

// A self-contained page.
std::string html_report(const RecordedRun &run);

// A cache file of Kernel Tuner, for its simulation mode and dashboard.
nlohmann::ordered_json kernel_tuner_cache(const RecordedSpace &space, const TuningResults &results);

}  // namespace flashwright
