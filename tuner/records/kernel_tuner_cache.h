// Kernel Tuner's cache file of a recorded space, for its simulation mode and dashboard.
#pragma once

#include "tuner/search/recorded_space.h"

#include <nlohmann/json.hpp>

namespace flashwright {

nlohmann::ordered_json kernel_tuner_cache(const RecordedSpace &space, const nlohmann::json &metadata);

}  // namespace flashwright
