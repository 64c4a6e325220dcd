// The tiles of the forward schedule (cpu_simd.h) that the tuner tries.
#pragma once

#include "tile_space.h"

namespace flashwright {

const TileSpace &forward_space();

}  // namespace flashwright
