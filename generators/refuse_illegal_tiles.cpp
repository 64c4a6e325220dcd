#include "refuse_illegal_tiles.h"

#include <cstdlib>
#include <iostream>

namespace flashwright {

void refuse_illegal_tiles(Op op, const std::string &schedule, const CpuTiles &tiles, int lanes) {
    const CpuSchedule *rules = find_cpu_schedule(op, schedule);
    const std::string problem = rules == nullptr
                                    ? "schedule: expected one of " + cpu_schedule_names(op) + ", got " + schedule
                                    : rules->why_illegal(tiles, lanes);
    if (problem.empty()) return;
    std::cerr << "error: " << op_name(op) << ": " << problem << "\n";
    std::exit(1);
}

}  // namespace flashwright
