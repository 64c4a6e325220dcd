#include "gpu_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

// CUDA C++ Programming Guide, "Compute Capabilities": the same for 8.0, 9.0 and 10.0.
constexpr int kWarp = 32, kMostWarps = 64, kMostBlocks = 32;
constexpr int kRegisters = 64 << 10, kMostRegisters = 255, kMostThreads = 1024;
constexpr std::int64_t kSharedOfSystem = 1 << 10;  // that each block takes besides its own
// CUDA occupancy calculator: registers are given out to warps by 256, warps to the schedulers by four.
constexpr int kRegisterUnit = 256, kSchedulers = 4;

constexpr int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

const std::vector<GpuArchitecture> &gpu_architectures() {
    // Shared memory by the same guide; lanes by its table of arithmetic throughput.
    static const std::vector<GpuArchitecture> architectures = {
        {"sm_80", 164 << 10, 64}, {"sm_90", 228 << 10, 128}, {"sm_100", 228 << 10, 128}};
    return architectures;
}

int resident_warps(const GpuArchitecture &architecture, const GpuResources &resources) {
    const int warps = rounded_up(resources.threads, kWarp) / kWarp;
    if (resources.threads > kMostThreads || resources.registers > kMostRegisters) return 0;
    const int registers_of_warp = rounded_up(std::max(resources.registers, 1) * kWarp, kRegisterUnit);
    const int by_registers = kRegisters / registers_of_warp / kSchedulers * kSchedulers / warps;
    const auto by_shared = static_cast<int>(architecture.shared_bytes / (resources.shared_bytes + kSharedOfSystem));
    return std::min({by_registers, by_shared, kMostWarps / warps, kMostBlocks}) * warps;
}

double occupancy(const GpuArchitecture &architecture, const GpuResources &resources) {
    return static_cast<double>(resident_warps(architecture, resources)) / kMostWarps;
}

double cycles_per_multiply_add(const GpuArchitecture &architecture, const GpuResources &resources,
                               const LoopCost &loop) {
    const double warps = static_cast<double>(resident_warps(architecture, resources)) / kSchedulers;
    if (!(warps > 0) || !(loop.multiply_adds > 0)) return std::numeric_limits<double>::infinity();
    const double waiting = 1 - loop.instructions / std::max(loop.cycles_alone, loop.instructions);
    const double issuing = 1 - std::pow(waiting, warps);
    const double lanes_of_scheduler = static_cast<double>(architecture.lanes) / kSchedulers;
    return std::max(kWarp / lanes_of_scheduler, 1 / loop.share() / issuing);
}

}  // namespace flashwright
