#include "cpu_forward_space.h"

#include <algorithm>
#include <utility>

namespace flashwright {
namespace {

const CpuSchedule &schedule() { return *find_cpu_schedule(Op::forward, "rows"); }

// The scores and weights of a block, which every pass over it reads and writes.
std::int64_t block_bytes(const CpuTiles &tiles, const CpuSearchContext &context) {
    return std::int64_t{2} * tiles.block_q * tiles.block_k * context.element_size;
}

std::vector<int> rows_of_vectors(const CpuSearchContext &context) {
    std::vector<int> values = {1, 2, 3, 4, 6, 8, 12, 16};
    for (int &value : values) value *= context.lanes;
    return values;
}

std::vector<int> block_lengths(const CpuSearchContext &) { return {32, 64, 96, 128, 192, 256, 384, 512, 1024}; }

std::vector<int> vector_counts(const CpuSearchContext &) { return {1, 2, 3, 4, 6}; }

std::vector<int> transpose_sides(const CpuSearchContext &context) {
    return context.lanes > 4 ? std::vector<int>{context.lanes / 2, context.lanes} : std::vector<int>{context.lanes};
}

std::vector<int> columns(const CpuSearchContext &) { return {2, 4, 6, 8, 12, 14, 16, 24}; }

std::string not_worth_trying(const CpuTiles &tiles, const CpuSearchContext &context) {
    const SmallestShape &shape = context.shape;
    if (context.lanes % tiles.tile_d != 0 && tiles.tile_d != 1) return "tile_d divides the vector's lanes";
    if (!fits_registers(tiles.row_vectors, tiles.tile_k, context)) return "the tile of scores fits the registers";
    if (!fits_registers(tiles.row_vectors, tiles.tile_v, context)) return "the tile of values fits the registers";
    if (!hides_latency(tiles.row_vectors, std::min(tiles.tile_k, tiles.tile_v)))
        return "a register tile holds enough sums to hide the latency of the multiply-add";
    if (tiles.block_k % tiles.tile_k != 0 && tiles.block_k < 4 * tiles.tile_k)
        return "block_k is a multiple of tile_k, or some of them";
    if (block_bytes(tiles, context) > context.l2 / 2) return "a block's scores and weights fit half of L2";
    if (shape.seqlen_k > 0 && tiles.tile_k > shape.seqlen_k) return "tile_k is at most seqlen_k";
    if (shape.head_dim > 0 && tiles.tile_d > std::min(shape.head_dim, shape.head_dim_v))
        return "tile_d is at most head_dim and head_dim_v";
    if (shape.head_dim_v > 0 && tiles.tile_v > shape.head_dim_v) return "tile_v is at most head_dim_v";
    return {};
}

// Register tiles that use the registers well, tall or wide; blocks that stay in L1, and that use L2.
std::vector<CpuTiles> starts(const CpuSearchContext &context) {
    const int lanes = context.lanes;
    const std::pair<int, int> register_tiles[] = {
        {2, context.registers > 16 ? 12 : 6}, {2, 8}, {1, 16}, {3, 4}, {1, 8}, {2, 4}};
    const TileParameter &block_k = forward_rows_space().parameters[1];
    std::vector<CpuTiles> starts;
    for (const auto &[row_vectors, columns] : register_tiles) {
        for (const int row_tiles : {1, 2}) {
            CpuTiles tiles = {lanes * row_vectors * row_tiles, 0, row_vectors, lanes, columns, columns};
            const std::int64_t keys_in_l1 = context.l1 / (std::int64_t{2} * tiles.block_q * context.element_size);
            for (const std::int64_t keys : {keys_in_l1, 2 * keys_in_l1}) {
                tiles.block_k = largest_value(block_k, context, keys);
                if (forward_rows_space().worth_searching(tiles, context)) starts.push_back(tiles);
            }
        }
    }
    return starts;
}

}  // namespace

const TileSpace &forward_rows_space() {
    static const TileSpace space(
        schedule(), {rows_of_vectors, block_lengths, vector_counts, transpose_sides, columns, columns},
        [](const CpuTiles &tiles, const CpuSearchContext &context) {
            return schedule().why_illegal(tiles, context.lanes);
        },
        not_worth_trying, starts);
    return space;
}

}  // namespace flashwright
