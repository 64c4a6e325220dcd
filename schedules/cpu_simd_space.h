// The space that the tuner searches for the CPU SIMD schedules: parameters, their values, what a valid choice is. Pure
// functions of the machine; nothing of Halide, so that the tuner links it.
#pragma once

#include "cpu_simd_tiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// What the space depends on.
struct CpuSimdMachine {
    int lanes;            // elements in a vector
    int registers;        // vectors
    int element_size;     // bytes
    std::int64_t l1, l2;  // bytes of one core's data caches
};

// Vectors of an instruction set; throws std::invalid_argument on a name that it does not know.
CpuSimdMachine cpu_simd_machine(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2);

struct TileParameter {
    const char *name;
    std::int32_t CpuSimdTiles::*member;
    bool run_time;  // given to the kernel at run time: variants that differ in nothing else share one object
    const char *meaning;
};

// In the order of configuration files.
const std::vector<TileParameter> &forward_parameters();

// The values that the tuner tries, ascending.
std::vector<std::int32_t> values_of(const TileParameter &parameter, const CpuSimdMachine &machine);

// The first rule that the tiles break, in words; empty if none. `seqlen_k` and so on are of the smallest shape that the
// kernel must take; 0: any.
struct SmallestShape {
    std::int64_t seqlen_k = 0, head_dim = 0, head_dim_v = 0;
};
std::string broken_rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine, const SmallestShape &shape);

// Every valid choice, in lexicographic order.
std::vector<CpuSimdTiles> forward_space(const CpuSimdMachine &machine, const SmallestShape &shape);

// What a model of registers and caches would choose, best first: where a search may start.
std::vector<CpuSimdTiles> forward_starts(const CpuSimdMachine &machine);

bool operator==(const CpuSimdTiles &a, const CpuSimdTiles &b);
inline bool operator!=(const CpuSimdTiles &a, const CpuSimdTiles &b) { return !(a == b); }

}  // namespace flashwright
