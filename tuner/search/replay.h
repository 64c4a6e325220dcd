// What a strategy would have found in a recorded space.
#pragma once

#include "tuner/records/recorded_space.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// The limits of a search. Candidates that differ only in parameters given at run time count as one compilation.
struct ReplayLimits {
    std::size_t candidates, compilations;
};

// How much slower than the best of the space the best found is, after each candidate: 0.01 is 1 %.
std::vector<double> regret_curve(const RecordedSpace &recorded, const std::string &strategy, std::uint32_t seed,
                                 const ReplayLimits &limits, const nlohmann::ordered_json &machine);

}  // namespace flashwright
