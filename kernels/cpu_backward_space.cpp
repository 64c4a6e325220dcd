#include "cpu_backward_space.h"

#include <algorithm>
#include <utility>

namespace flashwright {
namespace {

// P and dS of one call, which four of its five products read or write.
std::int64_t pair_bytes(const CpuSimdTiles &tiles, const CpuSimdMachine &machine) {
    return std::int64_t{2} * tiles.block_q * tiles.block_k * machine.element_size;
}

// Multiples of the heights of register tiles, also of odd ones.
std::vector<int> query_counts(const CpuSimdMachine &) {
    return {32, 48, 60, 64, 96, 120, 128, 192, 240, 256, 384, 512};
}

std::vector<int> key_counts(const CpuSimdMachine &) { return {32, 48, 64, 96, 128, 192, 256, 384, 512}; }

std::vector<int> columns(const CpuSimdMachine &) { return {2, 3, 4, 5, 6, 8, 10, 12, 16, 24}; }

std::vector<int> widths(const CpuSimdMachine &machine) {
    std::vector<int> values = {1, 2, 3, 4};
    for (int &value : values) value *= machine.lanes;
    return values;
}

// The runtime pads whatever the shape, so that it rules nothing out.
std::string rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine, const SmallestShape &) {
    const int vectors = tiles.width / machine.lanes;
    if (tiles.width % machine.lanes != 0) return "width is a multiple of the vector's lanes";
    if (tiles.width % tiles.tile_k != 0) return "tile_k divides width";
    if (tiles.block_q % tiles.tile_q != 0) return "block_q is a multiple of tile_q";
    if (tiles.block_k % tiles.width != 0) return "block_k is a multiple of width";
    if (!fits_registers(vectors, tiles.tile_q, machine)) return "the tile of scores, dP and dQ fits the registers";
    if (!fits_registers(vectors, tiles.tile_k, machine)) return "the tile of dK and dV fits the registers";
    if (!hides_latency(vectors, std::min(tiles.tile_q, tiles.tile_k)))
        return "a register tile holds enough sums to hide the latency of the multiply-add";
    if (pair_bytes(tiles, machine) > machine.l2 / 2) return "P and dS of a call fit half of L2";
    return {};
}

// Register tiles that use the registers well, narrow or wide; P and dS that stay in L1, and that use L2.
std::vector<CpuSimdTiles> starts(const CpuSimdMachine &machine) {
    const int usual = machine.registers > 16 ? 8 : 4;
    struct RegisterTile {
        int vectors, tile_q, tile_k;
    };
    const RegisterTile register_tiles[] = {{2, machine.registers > 16 ? 12 : 6, usual},
                                           {2, usual, usual},
                                           {3, usual, usual},
                                           {1, 2 * usual, 2 * usual},
                                           {4, 6, 4}};
    const std::vector<TileParameter> &parameters = gradient_space().parameters;
    std::vector<CpuSimdTiles> starts;
    for (const auto &[vectors, tile_q, tile_k] : register_tiles) {
        for (const int rows : {64, 128}) {
            for (const std::int64_t bytes : {machine.l1, machine.l2 / 4}) {
                CpuSimdTiles tiles = {};
                tiles.width = vectors * machine.lanes;
                tiles.tile_q = tile_q;
                tiles.tile_k = tile_k;
                tiles.block_q = largest_value(parameters[0], machine, rows, tile_q);
                const std::int64_t keys = bytes / (std::int64_t{2} * tiles.block_q * machine.element_size);
                tiles.block_k = largest_value(parameters[1], machine, keys, tiles.width);
                if (gradient_space().broken_rule(tiles, machine, {}).empty()) starts.push_back(tiles);
            }
        }
    }
    return starts;
}

}  // namespace

const TileSpace &gradient_space() {
    static const TileSpace space = {
        {{"block_q", 'q', &CpuSimdTiles::block_q, true, "queries of one call", query_counts},
         {"block_k", 'b', &CpuSimdTiles::block_k, true, "keys of one call", key_counts},
         {"tile_k", 'k', &CpuSimdTiles::tile_k, false, "keys in the register tile of dK and dV", columns},
         {"width", 'w', &CpuSimdTiles::width, false, "keys, or channels, across the lanes of a register tile", widths},
         {"tile_q", 't', &CpuSimdTiles::tile_q, false, "query rows in the register tile of scores, dP and dQ",
          columns}},
        rule,
        starts};
    return space;
}

}  // namespace flashwright
