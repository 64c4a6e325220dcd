// Strategies on a recorded space: what they would have found, without a machine.
#pragma once

#include "recorded_space.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// What a search may cost. Candidates that differ in parameters given at run time alone are one compilation.
struct ReplayLimits {
    std::size_t candidates, compilations;
};

// How much slower than the best of the space the best found is, after each candidate: 0.01 is 1 %.
std::vector<double> regret_curve(const RecordedSpace &recorded, const std::string &strategy, std::uint32_t seed,
                                 const ReplayLimits &limits, const nlohmann::json &metadata);

}  // namespace flashwright
