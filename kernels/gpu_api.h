// What each GPU interface allows one thread block.
#pragma once

#include <cstdint>
#include <string>

namespace flashwright {

struct GpuApi {
    const char *name;           // as Halide's targets have it
    int threads;                // of a block
    std::int64_t shared_bytes;  // of a block
    bool shuffles;              // threads of a warp can exchange registers
};

// Null for a name that is none of cuda, opencl, vulkan, metal, webgpu, d3d12compute.
const GpuApi *find_gpu_api(const std::string &name);

}  // namespace flashwright
