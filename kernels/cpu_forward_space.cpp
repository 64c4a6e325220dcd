#include "cpu_forward_space.h"

#include <algorithm>
#include <utility>

namespace flashwright {
namespace {

// The scores and weights of a block, which every pass over it reads and writes.
std::int64_t block_bytes(const CpuSimdTiles &tiles, const CpuSimdMachine &machine) {
    return std::int64_t{2} * tiles.block_q * tiles.block_k * machine.element_size;
}

std::vector<int> rows_of_vectors(const CpuSimdMachine &machine) {
    std::vector<int> values = {1, 2, 3, 4, 6, 8, 12, 16};
    for (int &value : values) value *= machine.lanes;
    return values;
}

std::vector<int> block_lengths(const CpuSimdMachine &) { return {32, 64, 96, 128, 192, 256, 384, 512, 1024}; }

std::vector<int> vector_counts(const CpuSimdMachine &) { return {1, 2, 3, 4, 6}; }

std::vector<int> square_sides(const CpuSimdMachine &machine) {
    return machine.lanes > 4 ? std::vector<int>{machine.lanes / 2, machine.lanes} : std::vector<int>{machine.lanes};
}

std::vector<int> columns(const CpuSimdMachine &) { return {2, 4, 6, 8, 12, 14, 16, 24}; }

std::string rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine, const SmallestShape &shape) {
    if (tiles.block_q % (machine.lanes * tiles.row_vectors) != 0)
        return "block_q is a multiple of the vector's lanes times row_vectors";
    if (machine.lanes % tiles.tile_d != 0 && tiles.tile_d != 1) return "tile_d divides the vector's lanes";
    if (!fits_registers(tiles.row_vectors, tiles.tile_k, machine)) return "the tile of scores fits the registers";
    if (!fits_registers(tiles.row_vectors, tiles.tile_v, machine)) return "the tile of values fits the registers";
    if (!hides_latency(tiles.row_vectors, std::min(tiles.tile_k, tiles.tile_v)))
        return "a register tile holds enough sums to hide the latency of the multiply-add";
    if (tiles.block_k % tiles.tile_k != 0 && tiles.block_k < 4 * tiles.tile_k)
        return "block_k is a multiple of tile_k, or some of them";
    if (block_bytes(tiles, machine) > machine.l2 / 2) return "a block's scores and weights fit half of L2";
    if (shape.seqlen_k > 0 && tiles.tile_k > shape.seqlen_k) return "tile_k is at most seqlen_k";
    if (shape.head_dim > 0 && tiles.tile_d > std::min(shape.head_dim, shape.head_dim_v))
        return "tile_d is at most head_dim and head_dim_v";
    if (shape.head_dim_v > 0 && tiles.tile_v > shape.head_dim_v) return "tile_v is at most head_dim_v";
    return {};
}

// Register tiles that use the registers well, tall or wide; blocks that stay in L1, and that use L2.
std::vector<CpuSimdTiles> starts(const CpuSimdMachine &machine) {
    const int lanes = machine.lanes;
    const std::pair<int, int> register_tiles[] = {
        {2, machine.registers > 16 ? 12 : 6}, {2, 8}, {1, 16}, {3, 4}, {1, 8}, {2, 4}};
    const TileParameter &block_k = forward_space().parameters[1];
    std::vector<CpuSimdTiles> starts;
    for (const auto &[row_vectors, columns] : register_tiles) {
        for (const int row_tiles : {1, 2}) {
            CpuSimdTiles tiles = {lanes * row_vectors * row_tiles, 0, row_vectors, lanes, columns, columns};
            const std::int64_t keys_in_l1 = machine.l1 / (std::int64_t{2} * tiles.block_q * machine.element_size);
            for (const std::int64_t keys : {keys_in_l1, 2 * keys_in_l1}) {
                tiles.block_k = largest_value(block_k, machine, keys);
                if (forward_space().broken_rule(tiles, machine, {}).empty()) starts.push_back(tiles);
            }
        }
    }
    return starts;
}

}  // namespace

const TileSpace &forward_space() {
    static const TileSpace space = {
        {{"block_q", 'q', &CpuSimdTiles::block_q, false, "query rows of one task", rows_of_vectors},
         {"block_k", 'b', &CpuSimdTiles::block_k, true, "keys of one block", block_lengths},
         {"row_vectors", 'r', &CpuSimdTiles::row_vectors, false, "vectors of query rows in a register tile",
          vector_counts},
         {"tile_d", 'd', &CpuSimdTiles::tile_d, false, "side of the squares that Q and the output are transposed in",
          square_sides},
         {"tile_k", 'k', &CpuSimdTiles::tile_k, false, "keys in the register tile of the dot products", columns},
         {"tile_v", 'v', &CpuSimdTiles::tile_v, false, "value channels in the register tile of the weighted sum",
          columns}},
        rule,
        starts};
    return space;
}

}  // namespace flashwright
