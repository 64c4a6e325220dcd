// The GPU kernels of this build that are tuned, and the program that generates others.
#pragma once

#include "kernels/gpu_configuration.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace flashwright {

// A forward kernel of f32 by CUDA of a configuration.
struct ConfiguredKernel : GpuKernelEntry {
    std::string name;       // forward_f32_cuda_d64
    std::size_t index = 0;  // in the list of kernels
};

struct GpuGenerator {
    std::string path, hash, halide_version;
    std::string target;              // of Halide
    GpuConfiguration configuration;  // that the build took
};

// FLASHWRIGHT_GPU_GENERATOR, else beside this program. Throws std::runtime_error if there is none, ConfigurationError
// if its configuration has a mistake.
GpuGenerator find_gpu_generator();

std::vector<ConfiguredKernel> forward_gpu_kernels(const GpuConfiguration &configuration);

nlohmann::ordered_json gpu_tiles_json(const GpuTiles &tiles, GpuPass pass = GpuPass::forward);  // without head_dim

std::string gpu_tiles_text(const GpuTiles &tiles);  // threads=64 rows=2 …

// The generator's command line without paths, for a Halide target and a kernel with these tiles. `output`: device_code
// or object, of the file candidate.
std::vector<std::string> gpu_generator_arguments(const std::string &target, const ConfiguredKernel &kernel,
                                                 const GpuTiles &tiles, const std::string &output);

// As the file that ships: a line for each kernel.
std::string configuration_text(const nlohmann::ordered_json &configuration);

}  // namespace flashwright
