// Which tiles of a GPU kernel are legal, and which of those are worth searching. Pure functions without Halide: the
// generator program and the tuner ask the same ones.
#pragma once

#include "gpu_api.h"
#include "gpu_pass.h"
#include "gpu_tiles.h"

#include <cstdint>
#include <string>

namespace flashwright {

// What the rules depend on besides the tiles.
struct GpuTileContext {
    GpuPass pass = GpuPass::forward;
    int head_dim = 0;
    int element_bytes = 4;  // of Q, K and V in memory
    GpuApi api = *find_gpu_api("cuda");
};

// Shared memory of a thread block in bytes: its own rows of the operands that all its steps read.
std::int64_t gpu_shared_bytes(const GpuTiles &tiles, GpuPass pass);

// Values of a thread that are live at once, whatever the compiler does.
int gpu_least_registers(const GpuTiles &tiles, GpuPass pass);

// The first broken rule as a sentence; empty if none is broken. Both expect tiles of at least 1.
std::string illegal_gpu_tiles(const GpuTiles &tiles, const GpuTileContext &context);
std::string gpu_tiles_not_worth_trying(const GpuTiles &tiles, const GpuTileContext &context);

}  // namespace flashwright
