// One batch of candidates: built side by side, checked one by one, timed together.
#pragma once

#include "tuner/tuning_session.h"

#include <cstddef>
#include <vector>

namespace flashwright {

void try_batch(TuningSession &session, const std::vector<std::size_t> &points);

}  // namespace flashwright
