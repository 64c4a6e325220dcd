// The GPU kernels that have tiles: forward, and the passes of backward, which are named by the gradients that they
// compute.
#pragma once

#include <string_view>

namespace flashwright {

enum class GpuPass { forward, dq, dk, dv, dk_dv, dbias };

struct GpuPassRow {
    GpuPass pass;
    const char *name;  // in configurations and generator arguments
    bool dq, dk, dv, dbias;
};

// The passes of backward, in the order in which a kernel runs them.
inline constexpr GpuPassRow kBackwardPasses[] = {{GpuPass::dbias, "dbias", false, false, false, true},
                                                 {GpuPass::dk, "dk", false, true, false, false},
                                                 {GpuPass::dk_dv, "dk+dv", false, true, true, false},
                                                 {GpuPass::dq, "dq", true, false, false, false},
                                                 {GpuPass::dv, "dv", false, false, true, false}};

// Null for a name that is no pass's.
constexpr const GpuPassRow *find_backward_pass(std::string_view name) {
    for (const GpuPassRow &row : kBackwardPasses)
        if (name == row.name) return &row;
    return nullptr;
}

}  // namespace flashwright
