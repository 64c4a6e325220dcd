// The search for tiles of one GPU kernel.
#pragma once

#include "gpu_tuning.h"

namespace flashwright {

// Batch after batch, as the strategy proposes, until `deadline` (a wall time), candidates or patience are spent. Throws
// std::runtime_error if nothing can be predicted of the default.
TunedGpuKernel search_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuTrials &trials,
                                const TuneListener &listener, const StopRequested &stop_requested, double deadline);

// Valid choices of tiles that `only` allows, and the kernel's own.
std::vector<GpuTiles> gpu_choices(const TuneOptions &options, const ConfiguredKernel &kernel);

}  // namespace flashwright
