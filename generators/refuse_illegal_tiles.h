#pragma once

#include "kernels/cpu_schedules.h"

#include <string>

namespace flashwright {

// Ends the program with an error if the operation has no such schedule, or if the schedule has no such tiles: a kernel
// of them would be wrong.
void refuse_illegal_tiles(Op op, const std::string &schedule, const CpuTiles &tiles, int lanes);

}  // namespace flashwright
