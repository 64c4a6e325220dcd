// The tiles of the forward schedule `rows` (schedules/cpu_rows.h) that the tuner tries.
#pragma once

#include "tile_space.h"

namespace flashwright {

const TileSpace &forward_rows_space();

}  // namespace flashwright
