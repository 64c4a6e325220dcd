// The spaces of the tiles of GPU kernels.
#pragma once

#include "gpu_tile_rules.h"
#include "tile_space_template.h"

#include <string>

namespace flashwright {

using GpuTileSpace = TileSpaceOf<GpuTiles, GpuTileContext>;

// Of one pass. head_dim is no parameter: it belongs to the kernel.
const GpuTileSpace &gpu_tile_space(GpuPass pass);

// What the tuner searches: the tiles of forward kernels of f32 by CUDA.
inline const GpuTileSpace &cuda_forward_space() { return gpu_tile_space(GpuPass::forward); }
GpuTileContext cuda_forward_context(int head_dim);

}  // namespace flashwright
