// The last word on a shape: fresh pairs against the default, and a test.
#pragma once

#include "tuner/records/tuned_kernel.h"
#include "tuner/tuning_session.h"

#include <cstddef>
#include <vector>

namespace flashwright {

// `shipped`: points that serve a shape already; a winner is added to them. Without pairs if it was stopped, or nothing
// is left to compare.
TunedRow duel(TuningSession &session, std::size_t shape, std::vector<std::size_t> points,
              std::vector<std::size_t> &shipped);

}  // namespace flashwright
