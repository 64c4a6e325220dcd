// Batch after batch, as the strategy proposes, until time, candidates or patience are spent.
#pragma once

#include "tuner/tuning_session.h"

#include <vector>

namespace flashwright {

// Leaves time for the finals before `deadline`, a wall time.
void search(TuningSession &session, const std::vector<CpuSimdTiles> &warm_starts, double deadline);

}  // namespace flashwright
