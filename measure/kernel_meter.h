// Times one kernel on one shape and samples the machine's peak after every repetition.
#pragma once

#include "flashwright/flashwright.h"
#include "machine_peak.h"
#include "measured_call.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flashwright {

struct MeterResult {
    std::string kernel, isa;
    int threads;
    std::vector<double> seconds;  // of one call: thread-CPU time on one thread, wall time on several
    double gflops;                // at the 25th percentile of the times
    double peak_gflops;           // of the ISA that the kernel uses, on as many threads
    std::string best_isa;         // the widest that this machine can use, with its peak
    double best_peak_gflops;
    double gbytes_per_second;  // 0 unless the shape is memory-bound; each tensor counts once
    double peak_gbytes_per_second;
};

class KernelMeter {
 public:
    // Throws std::runtime_error with the library's message if it refuses the call.
    KernelMeter(const std::string &op, const ShapeSpec &shape, flashwright_dtype dtype,
                const flashwright_execution &execution);
    double repeat();  // takes at least a millisecond; returns the seconds of one call
    MeterResult result() const;
    const std::string &kernel() const { return kernel_; }

 private:
    std::unique_ptr<MeasuredCall> measured_;
    flashwright_execution execution_;
    std::string kernel_, isa_, best_isa_;
    int threads_;
    int calls_ = 1;  // in one repetition
    std::vector<double> seconds_;
    std::optional<FmaPeak> peak_, best_peak_;
    std::optional<ReadBandwidth> bandwidth_;  // only for shapes that may be memory-bound
    double bytes_;

    void call();
};

}  // namespace flashwright
