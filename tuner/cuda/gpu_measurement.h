// Measures candidates of one GPU kernel on a device, against its baseline.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/comparison/paired_statistics.h"
#include "tuner/comparison/trials.h"
#include "tuner/tune_options.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashwright {

struct MeasuredGpuTiles {
    GpuTiles tiles;
    CheckResult check;       // with any later failure
    bool compiling = false;  // it failed while it was compiled
    double compile_seconds = 0;
    std::optional<std::size_t> duplicate_of;   // the candidate with the same code, which has the times
    std::vector<std::vector<double>> seconds;  // [shape][round], of one call
    std::vector<double> ratios;                // to the baseline's time, by shape; empty if not timed
    bool compared = false;                     // it took part in the paired comparison
    PairedVerdict verdict;                     // of the paired comparison, over all shapes
};

struct GpuMeasurement {
    std::vector<ShapeSpec> shapes;
    std::vector<MeasuredGpuTiles> candidates;  // the baseline first
    double noise_floor = 0;                    // of the geometric mean over the shapes
    bool compared = false;                     // a candidate was compared with the baseline
    std::size_t best = 0;                      // in `candidates`: the winner; for a tie the fastest
    std::map<std::string, int> failures;       // by verdict
    std::string failure;                       // of the baseline, so that nothing was compared

    bool win() const { return candidates[best].verdict.win; }
};

// `tiles`: the baseline first. Candidates are compared by the geometric mean over the shapes. Results so far are kept
// when a stop is requested.
GpuMeasurement measure_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel,
                                 const std::vector<GpuTiles> &tiles, const std::vector<ShapeSpec> &shapes,
                                 const std::string &target, CandidateBuilder &builder, const TuneListener &listener,
                                 const StopRequested &stop_requested);

}  // namespace flashwright
