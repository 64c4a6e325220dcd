// What Trials needs for a kind of kernel: check problems, loading of candidates, and timing of calls.
#pragma once

#include "tuner/candidates/candidate.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

// Loads and runs candidates in one child process.
class MeasurementWorker {
 public:
    virtual ~MeasurementWorker() = default;
    // Returns the candidate's number in this worker. Throws std::runtime_error if it cannot be loaded.
    virtual std::size_t load(const Candidate &candidate) = 0;
    // The largest error of any output, in units of the tolerance; infinite if the candidate wrote beside the outputs.
    // Throws std::runtime_error with the library's message.
    virtual double error_of(std::size_t candidate, std::size_t problem) = 0;
    // Seconds of one call on a shape: the mean of `calls` calls.
    virtual double seconds_of(std::size_t candidate, std::size_t shape, int calls) = 0;
};

class MeasurementTarget {
 public:
    virtual ~MeasurementTarget() = default;
    // Names of the check problems, the last of which are those of the shapes. Names of the shapes, as they are timed.
    virtual std::vector<std::string> problems() const = 0;
    virtual std::vector<std::string> shapes() const = 0;
    // Silence timeouts: for the baseline, whose speed is unknown, and the minimum for candidates.
    virtual double baseline_silence() const = 0;
    virtual double min_silence() const = 0;
    virtual std::uint64_t memory_bytes() const = 0;  // of a child, as ChildLimits has it
    // Called in a child. `placement` is a seed of the addresses of the tensors.
    virtual std::unique_ptr<MeasurementWorker> make_worker(std::uint32_t placement) const = 0;
};

}  // namespace flashwright
