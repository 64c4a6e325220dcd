#include "gpu_forward_space.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace flashwright {
namespace {

constexpr int kWarp = 32, kVector = 4, kElementBytes = 4;
constexpr int kMostRegisters = 255;             // that an instruction can name
constexpr std::int64_t kMostShared = 48 << 10;  // of a block that did not ask the driver for more; Halide does not
constexpr int kMostRows = 256;                  // of a thread block: a diagonal's blocks are tested for all of them
constexpr int kMostUnrolled = 6144;             // multiply-adds: about 128 KB of code in a loop, and seconds of ptxas
constexpr int kStartRegisters = 190;            // at least: addresses and what is on its way need the rest
constexpr int kFewestChannels = 32;             // of a thread that shares rows, for each of which it does the softmax
constexpr std::size_t kStarts = 8;

int unrolled_multiply_adds(const GpuTiles &tiles) {
    return tiles.rows * tiles.block_k * (tiles.own_channels() + tiles.tile_d);
}

// Instructions of one block of keys, as docs/gpu.md counts them.
double expected_share(const GpuTiles &tiles) {
    const double rows = tiles.rows, keys = tiles.block_k, channels = tiles.own_channels();
    const double products = 2 * rows * keys * channels;
    const double loads = keys * channels / 2 + rows * channels / kVector;
    const double rescaling = 2 * rows * channels, softmax = 6 * rows * keys;
    const double exchanges = 2 * std::log2(tiles.parts) * rows * keys;
    return products / (products + loads + rescaling + softmax + exchanges);
}

}  // namespace

const std::vector<GpuTileParameter> &gpu_tile_parameters() {
    static const std::vector<GpuTileParameter> parameters = {
        {"threads", &GpuTiles::threads, "threads of a block", {32, 64, 128}},
        {"rows", &GpuTiles::rows, "query rows of a thread", {1, 2, 3, 4}},
        {"block_k", &GpuTiles::block_k, "keys of one block of the online softmax", {4, 8, 12, 16, 20, 24, 28, 32, 40}},
        {"tile_d", &GpuTiles::tile_d, "channels that one step of the dot products reads", {4, 8, 16}},
        {"tile_v", &GpuTiles::tile_v, "value channels that are summed at once", {4, 8, 16, 32}},
        {"parts", &GpuTiles::parts, "threads that share the channels of their rows", {1, 2, 4}}};
    return parameters;
}

std::int64_t gpu_shared_bytes(const GpuTiles &tiles) {
    return std::int64_t{kElementBytes} * tiles.threads * tiles.rows * (tiles.own_channels() + kVector);
}

int gpu_least_registers(const GpuTiles &tiles) {
    constexpr int kMaximumAndSum = 2, kAddress = 2;
    return tiles.rows * (tiles.own_channels() + kMaximumAndSum + tiles.block_k + tiles.tile_v) + kVector + kAddress;
}

std::string broken_gpu_rule(const GpuTiles &tiles) {
    for (const GpuTileParameter &parameter : gpu_tile_parameters()) {
        if (tiles.*parameter.member < 1) return std::string(parameter.name) + " is at least 1";
    }
    if (tiles.threads % kWarp != 0) return "threads is a multiple of 32";
    if ((tiles.parts & (tiles.parts - 1)) != 0 || tiles.parts > kWarp || tiles.head_dim % (tiles.parts * kVector) != 0)
        return "parts is a power of 2 up to 32, and head_dim a multiple of 4 parts";
    if (tiles.parts > 1 && tiles.own_channels() < kFewestChannels)
        return "threads that share a row have at least 32 channels each";
    if (tiles.tile_d % kVector != 0 || tiles.own_channels() % tiles.tile_d != 0)
        return "tile_d is a multiple of 4 that divides a thread's channels";
    if (tiles.tile_v % kVector != 0 || tiles.own_channels() % tiles.tile_v != 0)
        return "tile_v is a multiple of 4 that divides a thread's channels";
    if (gpu_shared_bytes(tiles) > kMostShared) return "a block's rows of Q fit 48 KB of shared memory";
    if (tiles.block_q() > kMostRows) return "a block has at most 256 rows";
    if (gpu_least_registers(tiles) > kMostRegisters)
        return "state, weights and sums of a thread's rows fit 255 registers";
    if (unrolled_multiply_adds(tiles) > kMostUnrolled)
        return "a block of keys is at most 6144 multiply-adds when it is unrolled";
    return {};
}

std::vector<GpuTiles> gpu_tile_choices(int head_dim) {
    std::vector<GpuTiles> all = {{head_dim, 0, 0, 0, 0, 0}};
    for (const GpuTileParameter &parameter : gpu_tile_parameters()) {
        std::vector<GpuTiles> longer;
        for (GpuTiles tiles : all) {
            for (const int value : parameter.values) {
                tiles.*parameter.member = value;
                longer.push_back(tiles);
            }
        }
        all.swap(longer);
    }
    std::vector<GpuTiles> valid;
    std::copy_if(all.begin(), all.end(), std::back_inserter(valid),
                 [](const GpuTiles &tiles) { return broken_gpu_rule(tiles).empty(); });
    return valid;
}

std::vector<GpuTiles> gpu_tile_starts(int head_dim) {
    std::vector<GpuTiles> choices = gpu_tile_choices(head_dim);
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [](const GpuTiles &tiles) { return gpu_least_registers(tiles) > kStartRegisters; }),
                  choices.end());
    std::stable_sort(choices.begin(), choices.end(),
                     [](const GpuTiles &a, const GpuTiles &b) { return expected_share(a) > expected_share(b); });
    choices.resize(std::min(choices.size(), kStarts));
    return choices;
}

std::vector<int> gpu_point_of(const GpuTiles &tiles) {
    std::vector<int> point;
    for (const GpuTileParameter &parameter : gpu_tile_parameters()) point.push_back(tiles.*parameter.member);
    return point;
}

GpuTiles gpu_tiles_of(int head_dim, const std::vector<int> &point) {
    GpuTiles tiles = {head_dim, 0, 0, 0, 0, 0};
    for (std::size_t p = 0; p < point.size(); ++p) tiles.*gpu_tile_parameters()[p].member = point[p];
    return tiles;
}

}  // namespace flashwright
