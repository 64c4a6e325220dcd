// The tiles of the GPU forward kernels that the tuner tries, and what a valid choice is. Pure functions; nothing of
// Halide, so that the tuner links it.
#pragma once

#include "gpu_tiles.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

struct GpuTileParameter {
    const char *name;
    int GpuTiles::*member;
    const char *meaning;
    std::vector<int> values;  // that the tuner tries, ascending
};

// In the order of configuration files. head_dim is none of them: it belongs to the kernel.
const std::vector<GpuTileParameter> &gpu_tile_parameters();

// Of one thread block: the rows of Q, of each thread its own channels and 4 elements more.
std::int64_t gpu_shared_bytes(const GpuTiles &tiles);

// Values of a thread that live at once, whatever the compiler does: where the weighted values are summed.
int gpu_least_registers(const GpuTiles &tiles);

// The first rule that tiles of at least 1 break, in words; empty if none.
std::string broken_gpu_rule(const GpuTiles &tiles);

// Every valid choice, in lexicographic order.
std::vector<GpuTiles> gpu_tile_choices(int head_dim);

// Where a search may start: what by the counts of docs/gpu.md has the largest share of multiply-adds, best first.
std::vector<GpuTiles> gpu_tile_starts(int head_dim);

// A choice as the values of the parameters, in their order.
std::vector<int> gpu_point_of(const GpuTiles &tiles);
GpuTiles gpu_tiles_of(int head_dim, const std::vector<int> &point);

}  // namespace flashwright
