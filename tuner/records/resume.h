// What an earlier run found out.
#pragma once

#include "tuner/tuning_session.h"

#include <cstddef>

namespace flashwright {

// From the journal; returns of how many points.
std::size_t recall(TuningSession &session);

}  // namespace flashwright
