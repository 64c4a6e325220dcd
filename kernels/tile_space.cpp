#include "tile_space.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace flashwright {

CpuSimdMachine cpu_simd_machine(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2) {
    struct Vectors {
        const char *isa;
        int bytes, registers;
    };
    static constexpr Vectors kVectors[] = {
        {"baseline", 16, 16}, {"sse41", 16, 16}, {"avx2", 32, 16}, {"avx512", 64, 32}, {"neon", 16, 32}};
    for (const Vectors &vectors : kVectors) {
        if (isa == vectors.isa) return {vectors.bytes / element_size, vectors.registers, element_size, l1, l2};
    }
    throw std::invalid_argument("no vectors are known of ISA " + isa);
}

bool fits_registers(int vectors, int columns, const CpuSimdMachine &machine) {
    return vectors * (columns + 1) + (machine.registers > 16 ? 0 : 1) <= machine.registers;
}

bool hides_latency(int vectors, int columns) {
    constexpr int kLeastAccumulators = 6;
    return vectors * columns >= kLeastAccumulators;
}

std::string TileSpace::broken_rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine,
                                   const SmallestShape &shape) const {
    for (const TileParameter &parameter : parameters) {
        if (tiles.*parameter.member < 1) return std::string(parameter.name) + " is at least 1";
    }
    return rule(tiles, machine, shape);
}

std::vector<CpuSimdTiles> TileSpace::choices(const CpuSimdMachine &machine, const SmallestShape &shape) const {
    std::vector<CpuSimdTiles> all = {{}};
    for (const TileParameter &parameter : parameters) {
        std::vector<CpuSimdTiles> longer;
        for (CpuSimdTiles tiles : all) {
            for (const int value : parameter.values(machine)) {
                tiles.*parameter.member = value;
                longer.push_back(tiles);
            }
        }
        all.swap(longer);
    }
    std::vector<CpuSimdTiles> valid;
    std::copy_if(all.begin(), all.end(), std::back_inserter(valid),
                 [&](const CpuSimdTiles &tiles) { return broken_rule(tiles, machine, shape).empty(); });
    return valid;
}

std::vector<int> TileSpace::point_of(const CpuSimdTiles &tiles) const {
    std::vector<int> point;
    for (const TileParameter &parameter : parameters) point.push_back(tiles.*parameter.member);
    return point;
}

CpuSimdTiles TileSpace::tiles_of(const std::vector<int> &point) const {
    CpuSimdTiles tiles = {};
    for (std::size_t p = 0; p < parameters.size(); ++p) tiles.*parameters[p].member = point[p];
    return tiles;
}

int largest_value(const TileParameter &parameter, const CpuSimdMachine &machine, std::int64_t most, int step) {
    const std::vector<int> values = parameter.values(machine);
    const auto found =
        std::find_if(values.rbegin(), values.rend(), [&](int value) { return value <= most && value % step == 0; });
    return found == values.rend() ? values.front() : *found;
}

}  // namespace flashwright
