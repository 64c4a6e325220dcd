#include "cpu_backward_space.h"

#include <algorithm>
#include <utility>

namespace flashwright {
namespace {

const CpuSchedule &schedule() { return *find_cpu_schedule(Op::backward, "blocks"); }

// P and dS of one call, which four of its five products read or write.
std::int64_t pair_bytes(const CpuTiles &tiles, const CpuSearchContext &context) {
    return std::int64_t{2} * tiles.block_q * tiles.block_k * context.element_size;
}

// Multiples of the heights of register tiles, also of odd ones.
std::vector<int> query_counts(const CpuSearchContext &) {
    return {32, 48, 60, 64, 96, 120, 128, 192, 240, 256, 384, 512};
}

std::vector<int> key_counts(const CpuSearchContext &) { return {32, 48, 64, 96, 128, 192, 256, 384, 512}; }

std::vector<int> columns(const CpuSearchContext &) { return {2, 3, 4, 5, 6, 8, 10, 12, 16, 24}; }

std::vector<int> widths(const CpuSearchContext &context) {
    std::vector<int> values = {1, 2, 3, 4};
    for (int &value : values) value *= context.lanes;
    return values;
}

// The runtime pads any shape, so a shape excludes nothing.
std::string not_worth_trying(const CpuTiles &tiles, const CpuSearchContext &context) {
    const int vectors = tiles.width / context.lanes;
    if (tiles.block_q % tiles.tile_q != 0) return "block_q is a multiple of tile_q";
    if (tiles.block_k % tiles.width != 0) return "block_k is a multiple of width";
    if (!fits_registers(vectors, tiles.tile_q, context)) return "the tile of scores, dP and dQ fits the registers";
    if (!fits_registers(vectors, tiles.tile_k, context)) return "the tile of dK and dV fits the registers";
    if (!hides_latency(vectors, std::min(tiles.tile_q, tiles.tile_k)))
        return "a register tile holds enough sums to hide the latency of the multiply-add";
    if (pair_bytes(tiles, context) > context.l2 / 2) return "P and dS of a call fit half of L2";
    return {};
}

// Register tiles that use the registers well, narrow or wide; P and dS that stay in L1, and that use L2.
std::vector<CpuTiles> starts(const CpuSearchContext &context) {
    const int height = context.registers > 16 ? 8 : 4;
    struct RegisterTile {
        int vectors, tile_q, tile_k;
    };
    const RegisterTile register_tiles[] = {{2, context.registers > 16 ? 12 : 6, height},
                                           {2, height, height},
                                           {3, height, height},
                                           {1, 2 * height, 2 * height},
                                           {4, 6, 4}};
    const std::vector<TileParameter> &parameters = backward_blocks_space().parameters;
    std::vector<CpuTiles> starts;
    for (const auto &[vectors, tile_q, tile_k] : register_tiles) {
        for (const int rows : {64, 128}) {
            for (const std::int64_t bytes : {context.l1, context.l2 / 4}) {
                CpuTiles tiles = {};
                tiles.width = vectors * context.lanes;
                tiles.tile_q = tile_q;
                tiles.tile_k = tile_k;
                tiles.block_q = largest_value(parameters[0], context, rows, tile_q);
                const std::int64_t keys = bytes / (std::int64_t{2} * tiles.block_q * context.element_size);
                tiles.block_k = largest_value(parameters[1], context, keys, tiles.width);
                if (backward_blocks_space().worth_searching(tiles, context)) starts.push_back(tiles);
            }
        }
    }
    return starts;
}

}  // namespace

const TileSpace &backward_blocks_space() {
    static const TileSpace space(
        schedule(), {query_counts, key_counts, columns, widths, columns},
        [](const CpuTiles &tiles, const CpuSearchContext &context) {
            return schedule().why_illegal(tiles, context.lanes);
        },
        not_worth_trying, starts);
    return space;
}

}  // namespace flashwright
