// The spaces of tiles that the tuner searches, by operation and schedule.
#pragma once

#include "tile_space.h"

#include <string>
#include <vector>

namespace flashwright {

// The operations of which a schedule is tuned: forward, backward.
const std::vector<std::string> &tunable_ops();

// Null for a schedule that is not tuned.
const TileSpace *find_tile_space(const std::string &op, const std::string &schedule);

// Of the schedule that is tuned; null for an operation of which none is.
const TileSpace *find_tile_space(const std::string &op);

// Throws std::invalid_argument for an operation that is not tuned.
const TileSpace &tile_space_of(const std::string &op);

}  // namespace flashwright
