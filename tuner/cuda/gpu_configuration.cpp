#include "gpu_configuration.h"

#include "kernels/gpu_plan.h"
#include "kernels/gpu_tile_spaces.h"
#include "tuner/candidates/candidate.h"
#include "tuner/candidates/generator_program.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTunedDtype = "f32";

const GpuBackend &cuda_backend() { return *find_gpu_backend("cuda"); }

// With a space after each comma and colon.
std::string one_line(const ordered_json &value) {
    if (!value.is_structured()) return value.dump();
    std::vector<std::string> parts;
    for (const auto &[key, member] : value.items())
        parts.push_back(value.is_object() ? fmt::format("{}: {}", ordered_json(key).dump(), one_line(member))
                                          : one_line(member));
    return value.is_object() ? fmt::format("{{{}}}", fmt::join(parts, ", "))
                             : fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace

GpuGenerator find_gpu_generator() {
    GpuGenerator generator;
    std::string configuration;
    find_generator_program(
        {"FLASHWRIGHT_GPU_GENERATOR", "flashwright_generate_gpu", "the generator program of GPU kernels",
         "a build with cuda in FLASHWRIGHT_BACKENDS"},
        [&](const std::string &path, const ordered_json &facts) {
            generator = {path, facts.at("generator_hash"), facts.at("halide"), facts.at("targets").at("cuda"), {}};
            configuration = facts.at("configuration");
        });
    // A path from the program's folder.
    const auto file = std::filesystem::path(generator.path).parent_path() / configuration;
    generator.configuration = read_gpu_configuration(file.string(), cuda_backend());
    return generator;
}

std::vector<ConfiguredKernel> forward_gpu_kernels(const GpuConfiguration &configuration) {
    std::vector<ConfiguredKernel> kernels;
    for (std::size_t i = 0; i < configuration.entries.size(); ++i) {
        const GpuKernelEntry &entry = configuration.entries[i];
        const bool tuned = entry.op == Op::forward && entry.is_for(cuda_backend()) && entry.dtype->name == kTunedDtype;
        if (tuned) kernels.push_back({entry, entry.name_on(cuda_backend()), i});
    }
    return kernels;
}

nlohmann::ordered_json gpu_tiles_json(const GpuTiles &tiles, GpuPass pass) {
    ordered_json result;
    for (const GpuTileSpace::Parameter &parameter : gpu_tile_space(pass).parameters)
        result[parameter.name] = tiles.*parameter.member;
    return result;
}

std::string gpu_tiles_text(const GpuTiles &tiles) {
    std::vector<std::string> parts;
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters)
        parts.push_back(fmt::format("{}={}", parameter.name, tiles.*parameter.member));
    return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<std::string> gpu_generator_arguments(const std::string &target, const ConfiguredKernel &kernel,
                                                 const GpuTiles &tiles, const std::string &output) {
    std::vector<std::string> command = {"-g",        "forward_gpu", "-f",   kCandidateSymbol,  "-n",
                                        "candidate", "-e",          output, "target=" + target};
    for (const std::string &parameter : gpu_generator_parameters(kernel, tiles)) command.push_back(parameter);
    return command;
}

std::string configuration_text(const nlohmann::ordered_json &configuration) {
    std::string text;
    for (const auto &[key, value] : configuration.items()) {
        std::string shown = one_line(value);
        if (key == "kernels") {
            std::vector<std::string> lines;
            for (const auto &entry : value) lines.push_back("    " + one_line(entry));
            shown = fmt::format("[\n{}\n  ]", fmt::join(lines, ",\n"));
        }
        if (key == "evidence") {
            std::vector<std::string> lines;
            for (const auto &[kernel, said] : value.items())
                lines.push_back(fmt::format("    {}: {}", ordered_json(kernel).dump(), one_line(said)));
            shown = fmt::format("{{\n{}\n  }}", fmt::join(lines, ",\n"));
        }
        text += fmt::format("{}  {}: {}", text.empty() ? "" : ",\n", ordered_json(key).dump(), shown);
    }
    return fmt::format("{{\n{}\n}}\n", text);
}

}  // namespace flashwright
