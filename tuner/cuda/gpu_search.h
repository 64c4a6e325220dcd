// The search for tiles of one GPU kernel, by static analysis of the candidates' code.
#pragma once

#include "gpu_tuning.h"

#include <vector>

namespace flashwright {

// Until `deadline` (a wall time), candidates or patience are spent. Throws std::runtime_error if the baseline cannot be
// analyzed.
TunedGpuKernel search_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuAnalyzer &analyzer,
                                const TuneListener &listener, const StopRequested &stop_requested, double deadline);

// The kernel's own tiles, then the valid choices that `only` allows.
std::vector<GpuTiles> gpu_choices(const TuneOptions &options, const ConfiguredKernel &kernel);

}  // namespace flashwright
