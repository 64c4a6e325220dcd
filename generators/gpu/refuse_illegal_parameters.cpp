#include "refuse_illegal_parameters.h"

#include "kernels/gpu_tile_spaces.h"

#include <cstdlib>
#include <iostream>

namespace flashwright {

using namespace Halide;

namespace {

[[noreturn]] void refuse(const std::string &generator, const std::string &problem) {
    std::cerr << "error: " << generator << ": " << problem << "\n";
    std::exit(1);
}

GpuApi api_of(const std::string &generator, const Target &target) {
    struct Feature {
        Target::Feature feature;
        const char *api;
    };
    static constexpr Feature kFeatures[] = {{Target::CUDA, "cuda"},     {Target::OpenCL, "opencl"},
                                            {Target::Vulkan, "vulkan"}, {Target::Metal, "metal"},
                                            {Target::WebGPU, "webgpu"}, {Target::D3D12Compute, "d3d12compute"}};
    for (const Feature &known : kFeatures) {
        if (target.has_feature(known.feature)) return *find_gpu_api(known.api);
    }
    refuse(generator,
           "target: expected one with cuda, opencl, vulkan, metal, webgpu or d3d12compute, got " + target.to_string());
}

}  // namespace

void refuse_illegal_dtype(const std::string &generator, const Type &dtype) {
    if (dtype == Float(32) || dtype == Float(16)) return;
    std::ostringstream name;
    name << dtype;
    refuse(generator, "dtype: expected float32 or float16, got " + name.str());
}

void refuse_illegal_tiles(const std::string &generator, const GpuTiles &tiles, GpuPass pass, const Type &stored,
                          const Target &target) {
    const GpuTileContext context = {pass, tiles.head_dim, stored.bytes(), api_of(generator, target)};
    const std::string problem = gpu_tile_space(pass).why_illegal(tiles, context);
    if (!problem.empty()) refuse(generator, problem);
}

GpuPass pass_of(const std::string &generator, const std::string &sums) {
    const GpuPassRow *row = find_backward_pass(sums);
    if (row == nullptr) refuse(generator, "sums: expected dq, dk, dv, dk+dv or dbias, got " + sums);
    return row->pass;
}

}  // namespace flashwright
