// The CPU schedules: the tile parameters of each, and which tiles are legal. The generator program, the configuration
// reader and the tuner ask the same functions. What a schedule does: schedules/cpu_*.
#pragma once

#include "cpu_tiles.h"
#include "op.h"
#include "tile_parameter.h"

#include <string>
#include <string_view>
#include <vector>

namespace flashwright {

using CpuTileParameter = TileParameterOf<CpuTiles>;

constexpr int kLargestTile = 65536;  // more than any machine has use for

struct CpuSchedule {
    Op op;
    Schedule schedule;
    std::vector<CpuTileParameter> parameters;  // in the order of configuration files
    // The first rule that tiles in the range of their parameters break.
    std::string (*rule)(const CpuTiles &tiles, int lanes);

    const char *name() const { return schedule_name(schedule); }
    // A sentence with the parameter, what was expected and what came; empty for legal tiles. A kernel with illegal
    // tiles would leave its buffers or take minutes to compile.
    std::string why_illegal(const CpuTiles &tiles, int lanes) const;
};

const std::vector<CpuSchedule> &cpu_schedules();

// Null for an operation that has no such schedule.
const CpuSchedule *find_cpu_schedule(Op op, std::string_view name);

// The names of an operation's schedules, as "rows, decode, generic".
std::string cpu_schedule_names(Op op);

}  // namespace flashwright
