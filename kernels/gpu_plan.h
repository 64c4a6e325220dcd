// What the build makes of GPU configurations: the generator's command line for each kernel, and the registry of them as
// C++.
#pragma once

#include "gpu_configuration.h"

#include <string>
#include <vector>

namespace flashwright {

// A backend that is built, and where its kernels are configured.
struct BackendConfiguration {
    const GpuBackend *backend;
    GpuConfiguration configuration;
};

struct GpuProgram {
    std::string name;
    std::string arguments;  // of the generator program, without paths
};

struct GpuPlan {
    std::vector<GpuProgram> programs;  // the kernels, then the Halide runtime of the backends
    std::string registry;              // gpu_registry.cpp
};

// `host`: the Halide target of the processor that calls the kernels.
GpuPlan plan_gpu_kernels(const std::vector<BackendConfiguration> &backends, const std::string &host);

// The Halide target of a backend's kernels.
std::string gpu_halide_target(const GpuBackend &backend, const std::string &host);

// The generator's parameters of a forward kernel, or of a pass of backward, with these tiles.
std::vector<std::string> gpu_generator_parameters(const GpuKernelEntry &entry, const GpuTiles &tiles,
                                                  const GpuPassRow *pass = nullptr);

}  // namespace flashwright
