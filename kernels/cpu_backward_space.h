// The tiles of the gradient's schedule (cpu_gradient.h) that the tuner tries.
#pragma once

#include "tile_space.h"

namespace flashwright {

const TileSpace &gradient_space();

}  // namespace flashwright
