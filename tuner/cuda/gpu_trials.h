// Candidates of a GPU kernel: generated, assembled and disassembled in processes of their own, and what the model makes
// of it.
#pragma once

#include "cuda_tools.h"
#include "gpu_configuration.h"
#include "support/child_process.h"
#include "tuner/comparison/verdict.h"

#include <functional>
#include <string>
#include <vector>

namespace flashwright {

// What is seen of a candidate's code for one architecture, and predicted from it.
struct GpuPrediction {
    std::string architecture;
    PtxasReport report;
    std::int64_t shared_bytes = 0;  // of a block
    double occupancy = 0, share = 0, cycles = 0;
};

struct GpuTrial {
    Verdict verdict = Verdict::ok;
    bool spills = false;
    std::string failed_on;                   // the architecture that it fails for; empty: before any
    std::string detail;                      // of what went wrong, with the program and the architecture
    double seconds = 0;                      // of all programs
    std::vector<GpuPrediction> predictions;  // by architecture, as far as it came

    bool valid() const { return verdict == Verdict::ok && !spills; }
    // ok, spill, or another verdict's name.
    std::string outcome() const { return verdict == Verdict::ok && spills ? "spill" : verdict_name(verdict); }
};

class GpuTrials {
 public:
    // `jobs` programs run at once.
    GpuTrials(GpuGenerator generator, CudaTools tools, int jobs, ChildLimits limits);

    // In the order of the tiles. A spill ends a candidate, unless all are to be seen `whole`. When a stop is requested
    // the rest is `interrupted`. `done` hears of each that ends.
    std::vector<GpuTrial> run(const ConfiguredKernel &kernel, const std::vector<GpuTiles> &tiles, bool whole,
                              const StopRequested &stop_requested, const std::function<void()> &done) const;

    const GpuGenerator &generator() const { return generator_; }
    const std::vector<GpuArchitecture> &architectures() const { return tools_.architectures; }

 private:
    class Job;
    GpuGenerator generator_;
    CudaTools tools_;
    std::size_t jobs_;
    ChildLimits limits_;
};

}  // namespace flashwright
