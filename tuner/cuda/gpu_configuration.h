// The GPU kernels of this build, as configs/gpu.json has them, and the program that generates others.
#pragma once

#include "kernels/gpu_tile_rules.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace flashwright {

// A forward kernel of f32 of a configuration.
struct ConfiguredKernel {
    std::string name;   // forward_f32_cuda_d64
    std::size_t entry;  // in the list of kernels
    std::vector<std::string> terms;
    bool assume_finite;
    GpuTiles tiles;
};

struct GpuGenerator {
    std::string path, hash, halide_version;
    std::string target;                    // of Halide
    nlohmann::ordered_json configuration;  // that the build took
};

// FLASHWRIGHT_GPU_GENERATOR, else beside this program. Throws std::runtime_error if there is none.
GpuGenerator find_gpu_generator();

// Throws std::runtime_error on an entry that lacks something.
std::vector<ConfiguredKernel> forward_gpu_kernels(const nlohmann::ordered_json &configuration);

// The name of the CUDA kernel of an entry, such as forward_f32_cuda_d64.
std::string cuda_kernel_name(const nlohmann::ordered_json &entry);

// Tiles as a configuration has them.
GpuTiles configured_tiles(const nlohmann::ordered_json &tiles, int head_dim, GpuPass pass);

nlohmann::ordered_json gpu_tiles_json(const GpuTiles &tiles);  // without head_dim

std::string gpu_tiles_text(const GpuTiles &tiles);  // threads=64 rows=2 …

// The generator's command line without paths, for a Halide target and a kernel with these tiles. `output`: device_code
// or object, of the file candidate.
std::vector<std::string> gpu_generator_arguments(const std::string &target, const ConfiguredKernel &kernel,
                                                 const GpuTiles &tiles, const std::string &output);

// As the file that ships: a line for each kernel.
std::string configuration_text(const nlohmann::ordered_json &configuration);

}  // namespace flashwright
