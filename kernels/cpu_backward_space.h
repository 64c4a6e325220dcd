// The tiles of the backward schedule (schedules/cpu_backward.h) that the tuner tries.
#pragma once

#include "tile_space.h"

namespace flashwright {

const TileSpace &backward_blocks_space();

}  // namespace flashwright
