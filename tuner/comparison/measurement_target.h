// What Trials knows of a kind of kernel: what candidates must solve, how they are loaded, and how calls are timed.
#pragma once

#include "kernels/cpu_tiles.h"
#include "kernels/gpu_tiles.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace flashwright {

// Something built that can be run.
struct Contestant {
    std::string shared_object;
    std::variant<CpuSimdTiles, GpuTiles> tiles;
};

// Candidates, problems and tensors in one child process.
class TrialStage {
 public:
    virtual ~TrialStage() = default;
    // The number of the candidate here. Throws std::runtime_error if it cannot be loaded.
    virtual std::size_t load(const Contestant &contestant) = 0;
    // The largest error of any output, in units of what is tolerated; infinite if something beside the outputs was
    // written. Throws what the library refuses.
    virtual double error_of(std::size_t candidate, std::size_t problem) = 0;
    // Of one call on a shape, from so many one after the other.
    virtual double seconds_of(std::size_t candidate, std::size_t shape, int calls) = 0;
};

class TrialSubject {
 public:
    virtual ~TrialSubject() = default;
    // Names of the problems to be solved, of which the last are of the shapes, and of the shapes as they are timed.
    virtual std::vector<std::string> problems() const = 0;
    virtual std::vector<std::string> shapes() const = 0;
    // Seconds that the anchor may say nothing, whose speed is not known yet, and that candidates may at least.
    virtual double anchor_silence() const = 0;
    virtual double least_silence() const = 0;
    virtual std::uint64_t memory_bytes() const = 0;  // of a child, as ChildLimits has it
    // In a child. `placement`: a seed of where tensors lie in memory.
    virtual std::unique_ptr<TrialStage> make_stage(std::uint32_t placement) const = 0;
};

}  // namespace flashwright
