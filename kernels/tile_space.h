// What the spaces of tiles that the tuner searches have in common. Each schedule declares its own beside it:
// parameters, their values, what a valid choice is. Pure functions of the machine; nothing of Halide, so that the tuner
// links it.
#pragma once

#include "cpu_tiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// What a space depends on.
struct CpuSimdMachine {
    int lanes;            // elements in a vector
    int registers;        // vectors
    int element_size;     // bytes
    std::int64_t l1, l2;  // bytes of one core's data caches
};

// Vectors of an instruction set; throws std::invalid_argument on a name that it does not know.
CpuSimdMachine cpu_simd_machine(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2);

// Whether a register tile fits: `vectors` x `columns` accumulators, the vectors they are made of, and one broadcast
// (which AVX-512 takes from memory, and NEON from a vector of four).
bool fits_registers(int vectors, int columns, const CpuSimdMachine &machine);

// Whether a register tile holds enough sums that none waits for another: the latency of a multiply-add times the two
// that start in a cycle.
bool hides_latency(int vectors, int columns);

struct TileParameter {
    const char *name;
    char initial;  // in the ids of variants
    int CpuSimdTiles::*member;
    bool run_time;  // given to the kernel at run time: variants that differ in nothing else share one object
    const char *meaning;
    std::vector<int> (*values)(const CpuSimdMachine &);  // that the tuner tries, ascending
};

// The smallest shape that the kernel must take; 0: any.
struct SmallestShape {
    std::int64_t seqlen_k = 0, head_dim = 0, head_dim_v = 0;
};

// The tiles of one op's kernels.
struct TileSpace {
    std::vector<TileParameter> parameters;  // in the order of configuration files
    // The first rule that tiles of at least 1 break, in words; empty if none.
    std::string (*rule)(const CpuSimdTiles &, const CpuSimdMachine &, const SmallestShape &);
    // What a model of registers and caches would choose, best first: where a search may start.
    std::vector<CpuSimdTiles> (*starts)(const CpuSimdMachine &);

    std::string broken_rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine, const SmallestShape &shape) const;
    // Every valid choice, in lexicographic order.
    std::vector<CpuSimdTiles> choices(const CpuSimdMachine &machine, const SmallestShape &shape) const;

    // A choice as the values of the parameters, in their order.
    std::vector<int> point_of(const CpuSimdTiles &tiles) const;
    CpuSimdTiles tiles_of(const std::vector<int> &point) const;
};

// The largest of the parameter's values up to `most` that is a multiple of `step`, else the smallest value.
int largest_value(const TileParameter &parameter, const CpuSimdMachine &machine, std::int64_t most, int step = 1);

}  // namespace flashwright
