// Candidates of one GPU kernel measured on a device, against its default.
#pragma once

#include "gpu_configuration.h"
#include "measure/shape_spec.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/comparison/paired_verdict.h"
#include "tuner/comparison/trials.h"
#include "tuner/tune_listener.h"
#include "tuner/tune_options.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flashwright {

// What was measured of a candidate.
struct MeasuredGpuTiles {
    GpuTiles tiles;
    CheckResult check;       // with what went wrong, whenever
    bool compiling = false;  // it went wrong
    double compile_seconds = 0;
    std::optional<std::size_t> duplicate_of;   // the candidate that has the same code, and the times
    std::vector<std::vector<double>> seconds;  // [shape][round], of one call
    std::vector<double> ratios;                // by shape, of what it took over the default; empty: not timed
    bool duelled = false;
    PairedVerdict verdict;  // of the duel, over all shapes
};

struct GpuMeasurement {
    std::vector<ShapeSpec> shapes;
    std::vector<MeasuredGpuTiles> candidates;  // the default first
    double noise_floor = 0;                    // of the geometric mean over the shapes
    bool compared = false;                     // some candidate met the default in a duel
    std::size_t best = 0;                      // in `candidates`: the winner, or the fastest of those that tie
    std::map<std::string, int> failures;       // by verdict
    std::string failure;                       // of the default: nothing could be compared

    bool win() const { return candidates[best].verdict.win; }
};

// `tiles`: the default first. Pairs are compared by the geometric mean over the shapes. What is known when a stop is
// requested is kept.
GpuMeasurement measure_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel,
                                 const std::vector<GpuTiles> &tiles, const std::vector<ShapeSpec> &shapes,
                                 const std::string &target, CandidateBuilder &builder, const TuneListener &listener,
                                 const StopRequested &stop_requested);

}  // namespace flashwright
