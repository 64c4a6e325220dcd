// Candidates timed beside the default. One that crashes or hangs is recorded and leaves the field; the rest goes on.
#pragma once

#include "tuning_session.h"

#include <cstddef>
#include <vector>

namespace flashwright {

// As Trials::rounds, of the default and then of the `points` that are left.
RoundTimes timed_beside_default(TuningSession &session, std::vector<std::size_t> &points,
                                const std::vector<int> &shapes, int rounds, std::uint32_t seed);

// As Trials::pairs, of the `points` that are left.
PairTimes paired_with_default(TuningSession &session, std::vector<std::size_t> &points, int shape, int placements);

}  // namespace flashwright
