// How fast a kernel would run on a GPU, from its code alone. No device is asked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright {

// What predictions say that they are made by.
constexpr const char *kGpuModel = "static-1";

// One multiprocessor.
struct GpuArchitecture {
    const char *name;           // as ptxas has it
    std::int64_t shared_bytes;  // for all blocks
    int lanes;                  // multiply-adds of f32 in a cycle
};
const std::vector<GpuArchitecture> &gpu_architectures();

struct GpuResources {
    int threads, registers;     // of a block, of a thread
    std::int64_t shared_bytes;  // of a block
};

// How many warps a multiprocessor holds at once; 0: not even one block.
int resident_warps(const GpuArchitecture &architecture, const GpuResources &resources);
double occupancy(const GpuArchitecture &architecture, const GpuResources &resources);

// A block of keys, as one warp executes it.
struct LoopCost {
    double instructions = 0, multiply_adds = 0;
    double cycles_alone = 0;  // until it is through, were it the only warp

    double share() const { return multiply_adds / instructions; }
};

// Cycles of a warp scheduler for each multiply-add that it issues. A scheduler issues one instruction a cycle, so that
// is 1 / share of them; over the part of the cycles in which any of its warps has one ready, which is 1 - waiting^warps
// if each waits on its own for `waiting` of the time; and at least what the lanes take.
double cycles_per_multiply_add(const GpuArchitecture &architecture, const GpuResources &resources,
                               const LoopCost &loop);

}  // namespace flashwright
