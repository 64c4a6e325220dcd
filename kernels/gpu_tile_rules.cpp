#include "gpu_tile_rules.h"

#include "tile_space_template.h"

#include <algorithm>

namespace flashwright {
namespace {

constexpr int kWarp = 32, kVector = 4, kComputedBytes = 4;  // all is computed in f32
constexpr int kWidestLoad = 16;                             // bytes
constexpr int kMostRegisters = 255;                         // that an instruction can name
constexpr int kMostRows = 256;       // of a thread block: all of them test the blocks of keys at its diagonal
constexpr int kLargestBlock = 256;   // of keys or rows: the loop over a block is unrolled
constexpr int kMostUnrolled = 6144;  // multiply-adds: about 128 KB of code in a loop, and seconds of ptxas
constexpr int kFewestChannels = 32;  // of a thread that shares rows: it does the softmax of each of them

std::string text(long long value) { return std::to_string(value); }

// Gradients that a thread keeps for each of its rows.
int kept_gradients(GpuPass pass) {
    if (pass == GpuPass::dbias) return 0;
    return pass == GpuPass::dk_dv ? 2 : 1;
}

// Dot products over channels for each pair of a row and a key.
int dot_products(GpuPass pass) { return pass == GpuPass::forward || pass == GpuPass::dv ? 1 : 2; }

// The threads that share rows exchange sums within whole warps. Only the runtime's f32 kernels gather the result.
std::string sharing_rule(const GpuTiles &tiles, const GpuTileContext &context) {
    const int sharing = tiles.threads_per_row;
    const auto broken = [&](const std::string &expected) {
        return broken_rule("threads_per_row", expected, tiles.threads_per_row);
    };
    if (sharing == 1) return {};
    if (context.pass != GpuPass::forward) return broken("1 in a pass of backward");
    if (!context.api.shuffles) return broken("1 without CUDA, where threads cannot exchange registers");
    if (context.element_bytes != kComputedBytes) return broken("1 with f16, whose results are not gathered");
    if (sharing > kWarp || (sharing & (sharing - 1)) != 0) return broken("a power of 2 up to 32");
    if (tiles.threads % kWarp != 0)
        return broken_rule("threads", "a multiple of 32 where threads share a row", tiles.threads);
    return {};
}

// Rows of every thread are whole vectors of the widest load.
std::string head_dim_rule(const GpuTiles &tiles, const GpuTileContext &context) {
    const int unit = tiles.threads_per_row * (kWidestLoad / context.element_bytes);
    if (tiles.head_dim > 0 && tiles.head_dim % unit == 0) return {};
    return broken_rule("head_dim", "a multiple of " + text(unit), tiles.head_dim);
}

// A tile of channels is whole loads, so that each of its values has a register: a load that is cut would index them by
// a variable. It divides the thread's channels: what is past them would be read past the end of K.
std::string channel_tile_rule(const char *name, int tile, const GpuTiles &tiles, const GpuTileContext &context) {
    const int lanes = std::min(kWidestLoad / context.element_bytes, tile);
    if (tile % kVector != 0) return broken_rule(name, "a multiple of 4", tile);
    if (tile % lanes != 0) return broken_rule(name, "4 or a multiple of 8 with f16", tile);
    if (tiles.channels_per_thread() % tile == 0) return {};
    return broken_rule(name, "a divisor of the " + text(tiles.channels_per_thread()) + " channels of a thread", tile);
}

std::string block_rule(const GpuTiles &tiles, const GpuTileContext &context) {
    if (context.pass == GpuPass::dbias && tiles.block_k < kVector)
        return broken_rule("block_k", "at least 4 in the pass of dbias, which stores by 4", tiles.block_k);
    if (tiles.block_k > kLargestBlock)
        return broken_rule("block_k", "at most " + text(kLargestBlock) + ", since blocks are unrolled", tiles.block_k);
    return {};
}

std::string device_rule(const GpuTiles &tiles, const GpuTileContext &context) {
    if (tiles.threads > context.api.threads)
        return broken_rule("threads", "at most " + text(context.api.threads) + " with " + context.api.name,
                           tiles.threads);
    const std::int64_t shared = gpu_shared_bytes(tiles, context.pass);
    if (shared <= context.api.shared_bytes) return {};
    return broken_rule("threads, rows, head_dim",
                       "at most " + text(context.api.shared_bytes) + " bytes of shared memory with " + context.api.name,
                       shared);
}

}  // namespace

std::int64_t gpu_shared_bytes(const GpuTiles &tiles, GpuPass pass) {
    const int operands = pass == GpuPass::forward ? 1 : 2;             // Q; Q and dO, or K and V
    const int row = operands * tiles.channels_per_thread() + kVector;  // padded, so that threads meet different banks
    return std::int64_t{kComputedBytes} * tiles.threads * tiles.rows * row;
}

int gpu_least_registers(const GpuTiles &tiles, GpuPass pass) {
    constexpr int kMaximumAndSum = 2, kAddress = 2;
    const bool forward = pass == GpuPass::forward;
    const int state = forward ? tiles.channels_per_thread() + kMaximumAndSum : kept_gradients(pass) * tiles.head_dim;
    const int pairs = dot_products(pass) * tiles.block_k;
    const int summed = pass == GpuPass::dbias ? 0 : tiles.tile_v;
    return tiles.rows * (state + pairs + summed) + kVector + kAddress;
}

std::string illegal_gpu_tiles(const GpuTiles &tiles, const GpuTileContext &context) {
    std::string why = sharing_rule(tiles, context);
    if (why.empty()) why = head_dim_rule(tiles, context);
    if (why.empty()) why = channel_tile_rule("tile_d", tiles.tile_d, tiles, context);
    const bool sums_channels = context.pass != GpuPass::dbias;
    if (why.empty() && sums_channels) why = channel_tile_rule("tile_v", tiles.tile_v, tiles, context);
    if (why.empty()) why = block_rule(tiles, context);
    if (why.empty()) why = device_rule(tiles, context);
    return why;
}

std::string gpu_tiles_not_worth_trying(const GpuTiles &tiles, const GpuTileContext &context) {
    if (tiles.threads % kWarp != 0)
        return broken_rule("threads", "a multiple of 32, the threads of a warp", tiles.threads);
    if (tiles.threads_per_row > 1 && tiles.channels_per_thread() < kFewestChannels)
        return broken_rule("threads_per_row", "at least 32 channels for each thread", tiles.channels_per_thread());
    if (tiles.block_q() > kMostRows)
        return broken_rule("threads, rows", "at most 256 rows in a thread block", tiles.block_q());
    const int registers = gpu_least_registers(tiles, context.pass);
    if (registers > kMostRegisters)
        return broken_rule("rows, block_k, tile_v", "values of a thread that fit 255 registers", registers);
    const int channels = tiles.channels_per_thread();
    const int unrolled = tiles.rows * tiles.block_k *
                         (kept_gradients(context.pass) * channels + dot_products(context.pass) * tiles.tile_d);
    if (unrolled > kMostUnrolled)
        return broken_rule("rows, block_k, tile_d", "at most 6144 multiply-adds in an unrolled block", unrolled);
    return {};
}

}  // namespace flashwright
