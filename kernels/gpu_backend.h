// The GPU backends of the library: one row each.
#pragma once

#include <string_view>

namespace flashwright {

struct GpuBackend {
    const char *name;             // as in kernels/gpu_api.h
    const char *halide_features;  // what the Halide target has besides processor and system
    const char *configuration;    // of the kernels that ship: a file in configs
    const char *stream_driver;    // of tensors in device memory, in runtime/gpu; null: the backend takes none
};

constexpr const char *kGpuConfiguration = "gpu.json";  // FLASHWRIGHT_GPU_CONFIG replaces it

// PTX of a compute capability runs on all later ones. Vulkan has a configuration of its own: Halide makes wrong code of
// other kernels, and devices may have 16 KB of shared memory.
inline constexpr GpuBackend kGpuBackends[] = {
    {"opencl", "opencl", kGpuConfiguration, nullptr},
    {"cuda", "cuda-cuda_capability_80", kGpuConfiguration, "kCudaStreamDriver"},
    {"vulkan", "vulkan-vk_int8", "gpu_vulkan.json", nullptr}};

// Null for a name that is no backend's.
constexpr const GpuBackend *find_gpu_backend(std::string_view name) {
    for (const GpuBackend &row : kGpuBackends)
        if (name == row.name) return &row;
    return nullptr;
}

}  // namespace flashwright
