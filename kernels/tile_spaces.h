// The ops that can be tuned, and the space of each.
#pragma once

#include "tile_space.h"

#include <string>
#include <vector>

namespace flashwright {

// forward, backward.
const std::vector<std::string> &tunable_ops();

// Null for an op that is not tuned.
const TileSpace *find_tile_space(const std::string &op);

// Throws std::invalid_argument for an op that is not tuned.
const TileSpace &tile_space_of(const std::string &op);

}  // namespace flashwright
