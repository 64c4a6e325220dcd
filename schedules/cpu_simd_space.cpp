#include "cpu_simd_space.h"

#include <algorithm>
#include <stdexcept>

namespace flashwright {
namespace {

// Register tiles: accumulators, the rows they are made of, and one broadcast (which AVX-512 takes from memory).
bool fits_registers(int row_vectors, int columns, const CpuSimdMachine &machine) {
    return row_vectors * (columns + 1) + (machine.registers > 16 ? 0 : 1) <= machine.registers;
}

// Fewer sums than this wait for each other: the latency of a multiply-add times the two that start in a cycle.
constexpr int kLeastAccumulators = 6;

// The scores and weights of a block, which every pass over it reads and writes.
std::int64_t block_bytes(const CpuSimdTiles &tiles, const CpuSimdMachine &machine) {
    return std::int64_t{2} * tiles.block_q * tiles.block_k * machine.element_size;
}

}  // namespace

CpuSimdMachine cpu_simd_machine(const std::string &isa, int element_size, std::int64_t l1, std::int64_t l2) {
    struct Vectors {
        const char *isa;
        int bytes, registers;
    };
    static constexpr Vectors kVectors[] = {
        {"baseline", 16, 16}, {"sse41", 16, 16}, {"avx2", 32, 16}, {"avx512", 64, 32}};
    for (const Vectors &vectors : kVectors) {
        if (isa == vectors.isa) return {vectors.bytes / element_size, vectors.registers, element_size, l1, l2};
    }
    throw std::invalid_argument("no vectors are known of ISA " + isa);
}

const std::vector<TileParameter> &forward_parameters() {
    static const std::vector<TileParameter> parameters = {
        {"block_q", &CpuSimdTiles::block_q, false, "query rows of one task"},
        {"block_k", &CpuSimdTiles::block_k, true, "keys of one block"},
        {"row_vectors", &CpuSimdTiles::row_vectors, false, "vectors of query rows in a register tile"},
        {"tile_d", &CpuSimdTiles::tile_d, false, "side of the squares that Q and the output are transposed in"},
        {"tile_k", &CpuSimdTiles::tile_k, false, "keys in the register tile of the dot products"},
        {"tile_v", &CpuSimdTiles::tile_v, false, "value channels in the register tile of the weighted sum"},
    };
    return parameters;
}

std::vector<std::int32_t> values_of(const TileParameter &parameter, const CpuSimdMachine &machine) {
    const std::string name = parameter.name;
    if (name == "block_q") {
        std::vector<std::int32_t> values;
        for (const int vectors : {1, 2, 3, 4, 6, 8, 12, 16}) values.push_back(vectors * machine.lanes);
        return values;
    }
    if (name == "block_k") return {32, 64, 96, 128, 192, 256, 384, 512, 1024};
    if (name == "row_vectors") return {1, 2, 3, 4, 6};
    if (name == "tile_d")
        return machine.lanes > 4 ? std::vector<std::int32_t>{machine.lanes / 2, machine.lanes}
                                 : std::vector<std::int32_t>{machine.lanes};
    return {2, 4, 6, 8, 12, 14, 16, 24};  // tile_k, tile_v
}

std::string broken_rule(const CpuSimdTiles &tiles, const CpuSimdMachine &machine, const SmallestShape &shape) {
    const int rows = machine.lanes * tiles.row_vectors;
    for (const TileParameter &parameter : forward_parameters()) {
        if (tiles.*parameter.member < 1) return std::string(parameter.name) + " is at least 1";
    }
    if (tiles.block_q % rows != 0) return "block_q is a multiple of the vector's lanes times row_vectors";
    if (machine.lanes % tiles.tile_d != 0 && tiles.tile_d != 1) return "tile_d divides the vector's lanes";
    if (!fits_registers(tiles.row_vectors, tiles.tile_k, machine)) return "the tile of scores fits the registers";
    if (!fits_registers(tiles.row_vectors, tiles.tile_v, machine)) return "the tile of values fits the registers";
    if (tiles.row_vectors * std::min(tiles.tile_k, tiles.tile_v) < kLeastAccumulators)
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

std::vector<CpuSimdTiles> forward_space(const CpuSimdMachine &machine, const SmallestShape &shape) {
    std::vector<CpuSimdTiles> choices = {{}};
    for (const TileParameter &parameter : forward_parameters()) {
        std::vector<CpuSimdTiles> longer;
        for (CpuSimdTiles tiles : choices) {
            for (const std::int32_t value : values_of(parameter, machine)) {
                tiles.*parameter.member = value;
                longer.push_back(tiles);
            }
        }
        choices.swap(longer);
    }
    choices.erase(
        std::remove_if(choices.begin(), choices.end(),
                       [&](const CpuSimdTiles &tiles) { return !broken_rule(tiles, machine, shape).empty(); }),
        choices.end());
    return choices;
}

std::vector<CpuSimdTiles> forward_starts(const CpuSimdMachine &machine) {
    const int lanes = machine.lanes;
    std::vector<CpuSimdTiles> starts;
    // Register tiles that use the registers well, tall or wide; blocks that stay in L1, and that use L2.
    const std::pair<int, int> register_tiles[] = {
        {2, machine.registers > 16 ? 12 : 6}, {2, 8}, {1, 16}, {3, 4}, {1, 8}, {2, 4}};
    for (const auto &[row_vectors, columns] : register_tiles) {
        for (const int row_tiles : {1, 2}) {
            CpuSimdTiles tiles = {lanes * row_vectors * row_tiles, 0, row_vectors, lanes, columns, columns};
            const std::int64_t keys_in_l1 = machine.l1 / (std::int64_t{2} * tiles.block_q * machine.element_size);
            for (const std::int64_t keys : {keys_in_l1, 2 * keys_in_l1}) {
                tiles.block_k = 32;
                for (const std::int32_t block_k : values_of(forward_parameters()[1], machine)) {
                    if (block_k <= keys) tiles.block_k = block_k;
                }
                if (broken_rule(tiles, machine, {}).empty()) starts.push_back(tiles);
            }
        }
    }
    return starts;
}

bool operator==(const CpuSimdTiles &a, const CpuSimdTiles &b) {
    const auto &parameters = forward_parameters();
    return std::all_of(parameters.begin(), parameters.end(),
                       [&](const TileParameter &p) { return a.*p.member == b.*p.member; });
}

}  // namespace flashwright
