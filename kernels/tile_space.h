// What the tile spaces of the CPU schedules have in common. Each schedule that is tuned declares its own: the values
// that the tuner tries, which legal tiles are worth searching, where a search starts.
#pragma once

#include "cpu_schedules.h"
#include "tile_space_template.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// The smallest shape that the kernel must take; 0: any.
struct SmallestShape {
    std::int64_t seqlen_k = 0, head_dim = 0, head_dim_v = 0;
};

// What a space depends on.
struct CpuSearchContext {
    int lanes;            // elements in a vector
    int registers;        // vectors
    int element_size;     // bytes of a sum
    std::int64_t l1, l2;  // bytes of one core's data caches
    SmallestShape shape = {};
};

// Throws std::invalid_argument on the name of an instruction set that it does not know.
CpuSearchContext cpu_search_context(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2,
                                    const SmallestShape &shape = {});

// Whether a register tile fits: `vectors` x `columns` accumulators, the vectors they are made of, and one broadcast
// (which AVX-512 takes from memory, and NEON from a vector of four).
bool fits_registers(int vectors, int columns, const CpuSearchContext &context);

// Whether a register tile holds enough sums that none waits for another: the latency of a multiply-add times the two
// that start in a cycle.
bool hides_latency(int vectors, int columns);

// The tiles of one schedule's kernels.
struct TileSpace : TileSpaceOf<CpuTiles, CpuSearchContext> {
    using Values = std::vector<int> (*)(const CpuSearchContext &);

    // `values`: of the schedule's parameters, in their order.
    TileSpace(const CpuSchedule &schedule, const std::vector<Values> &values, Rule illegal, Rule not_worth_trying,
              std::vector<CpuTiles> (*starts)(const CpuSearchContext &));

    CpuTiles tiles_of(const std::vector<int> &point) const { return TileSpaceOf::tiles_of(point, {}); }

    const CpuSchedule *schedule;
};
using TileParameter = TileSpace::Parameter;

// The largest of the parameter's values up to `most` that is a multiple of `step`, else the smallest value.
int largest_value(const TileParameter &parameter, const CpuSearchContext &context, std::int64_t most, int step = 1);

}  // namespace flashwright
