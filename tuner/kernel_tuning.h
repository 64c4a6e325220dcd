// Tunes one kernel (op, dtype, ISA) for some shapes: default, search, finals.
#pragma once

#include "tune_listener.h"
#include "tune_options.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/records/journal.h"
#include "tuner/records/tuned_kernel.h"

#include <vector>

namespace flashwright {

// Within `seconds`, if that is possible; `warm_starts` are tried first. Throws std::runtime_error if the default itself
// cannot be built and run.
TunedKernel tune_kernel(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder,
                        Journal &journal, const TuneListener &listener, const StopRequested &stop_requested,
                        const std::vector<CpuSimdTiles> &warm_starts, double seconds);

}  // namespace flashwright
