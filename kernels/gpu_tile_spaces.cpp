#include "gpu_tile_spaces.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flashwright {
namespace {

constexpr int kStartRegisters = 190;  // at most: addresses and loads on their way need the rest of 255
constexpr std::size_t kStarts = 8;

// The share of multiply-adds among the instructions of one block of keys, as docs/gpu.md counts them.
double expected_share(const GpuTiles &tiles) {
    constexpr int kVector = 4;
    const double rows = tiles.rows, keys = tiles.block_k, channels = tiles.channels_per_thread();
    const double products = 2 * rows * keys * channels;
    const double loads = keys * channels / 2 + rows * channels / kVector;
    const double rescaling = 2 * rows * channels, softmax = 6 * rows * keys;
    const double exchanges = 2 * std::log2(tiles.threads_per_row) * rows * keys;
    return products / (products + loads + rescaling + softmax + exchanges);
}

GpuTiles without_values(const GpuTileContext &context) { return {context.head_dim, 0, 0, 0, 0, 0}; }

std::vector<GpuTiles> starts_of(const GpuTileContext &context) {
    std::vector<GpuTiles> choices = gpu_tile_space(context.pass).choices(context);
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [&](const GpuTiles &tiles) {
                                     return gpu_least_registers(tiles, context.pass) > kStartRegisters;
                                 }),
                  choices.end());
    std::stable_sort(choices.begin(), choices.end(),
                     [](const GpuTiles &a, const GpuTiles &b) { return expected_share(a) > expected_share(b); });
    choices.resize(std::min(choices.size(), kStarts));
    return choices;
}

template <int... values>
std::vector<int> of(const GpuTileContext &) {
    return {values...};
}

std::vector<GpuTileSpace::Parameter> backward_parameters() {
    return {
        {{"threads", 't', &GpuTiles::threads, false, "threads of a block"}, of<32, 64, 128>},
        {{"rows", 'r', &GpuTiles::rows, false, "rows of a thread"}, of<1, 2, 3, 4>},
        {{"block_k", 'k', &GpuTiles::block_k, false, "keys of one block of the online softmax"},
         of<4, 8, 12, 16, 20, 24, 28, 32, 40>},
        {{"tile_d", 'd', &GpuTiles::tile_d, false, "channels that one step of the dot products reads"}, of<4, 8, 16>},
        {{"tile_v", 'v', &GpuTiles::tile_v, false, "value channels that are summed at once"}, of<4, 8, 16, 32>}};
}

std::vector<GpuTileSpace::Parameter> forward_parameters() {
    std::vector<GpuTileSpace::Parameter> parameters = backward_parameters();
    parameters.push_back(
        {{"threads_per_row", 's', &GpuTiles::threads_per_row, false, "threads that share the channels of their rows"},
         of<1, 2, 4>});
    return parameters;
}

}  // namespace

const GpuTileSpace &gpu_tile_space(GpuPass pass) {
    static const GpuTileSpace forward = {forward_parameters(), illegal_gpu_tiles, gpu_tiles_not_worth_trying, starts_of,
                                         without_values};
    static const GpuTileSpace backward = {backward_parameters(), illegal_gpu_tiles, gpu_tiles_not_worth_trying,
                                          starts_of, without_values};
    return pass == GpuPass::forward ? forward : backward;
}

GpuTileContext cuda_forward_context(int head_dim) { return {GpuPass::forward, head_dim, 4, *find_gpu_api("cuda")}; }

}  // namespace flashwright
