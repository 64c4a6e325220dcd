// Static analysis of GPU candidates: each is generated, assembled and disassembled in child processes, and a model
// predicts its speed.
#pragma once

#include "cuda_tools.h"
#include "gpu_configuration.h"
#include "support/child_process.h"
#include "tuner/comparison/verdict.h"

#include <functional>
#include <string>
#include <vector>

namespace flashwright {

// A candidate's code for one architecture, and what is predicted from it.
struct GpuPrediction {
    std::string architecture;
    PtxasReport report;
    std::int64_t shared_bytes = 0;  // of a block
    double occupancy = 0, share = 0, cycles = 0;
};

struct GpuAnalysis {
    Verdict verdict = Verdict::ok;
    bool spills = false;
    std::string failed_on;                   // the architecture; empty for a failure of the generator
    std::string detail;                      // of a failure: the program and the architecture
    double seconds = 0;                      // of all programs
    std::vector<GpuPrediction> predictions;  // by architecture, until a failure

    bool valid() const { return verdict == Verdict::ok && !spills; }
    // ok, spill, or another verdict's name.
    std::string outcome() const { return verdict == Verdict::ok && spills ? "spill" : verdict_name(verdict); }
};

class GpuAnalyzer {
 public:
    // `jobs` programs run in parallel.
    GpuAnalyzer(GpuGenerator generator, CudaTools tools, int jobs, ChildLimits limits);

    // One result for each of the tiles, in order. A candidate that spills is analyzed no further, unless `whole`. When
    // a stop is requested the rest is `interrupted`. `done` is called for each that ends.
    std::vector<GpuAnalysis> run(const ConfiguredKernel &kernel, const std::vector<GpuTiles> &tiles, bool whole,
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
