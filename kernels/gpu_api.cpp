#include "gpu_api.h"

namespace flashwright {

const GpuApi *find_gpu_api(const std::string &name) {
    static constexpr GpuApi kApis[] = {
        // CUDA C++ Programming Guide. A block gets more shared memory only if the driver is asked; Halide does not ask.
        {"cuda", 1024, 48 << 10, true},
        // A device states its own limits. GPUs of NVIDIA have these, those of AMD and Intel at least this much memory.
        {"opencl", 1024, 48 << 10, false},
        // Vulkan specification, "Required Limits": what every device has.
        {"vulkan", 128, 16 << 10, false},
        // Metal Feature Set Tables.
        {"metal", 1024, 32 << 10, false},
        // WebGPU specification, "Limits": the defaults.
        {"webgpu", 256, 16 << 10, false},
        // Direct3D 12, shader model 5.
        {"d3d12compute", 1024, 32 << 10, false}};
    for (const GpuApi &api : kApis) {
        if (name == api.name) return &api;
    }
    return nullptr;
}

}  // namespace flashwright
