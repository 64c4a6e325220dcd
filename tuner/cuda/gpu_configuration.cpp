#include "gpu_configuration.h"

#include "kernels/gpu_forward_space.h"
#include "tuner/candidates/candidate.h"
#include "tuner/candidates/generator_program.h"

#include <fmt/format.h>

#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

ConfiguredKernel kernel_of(const ordered_json &entry, std::size_t place) {
    ConfiguredKernel kernel;
    kernel.entry = place;
    kernel.terms = entry.at("terms").get<std::vector<std::string>>();
    kernel.assume_finite = entry.at("assume_finite");
    kernel.tiles.head_dim = entry.at("head_dim");
    for (const GpuTileParameter &parameter : gpu_tile_parameters())
        kernel.tiles.*parameter.member = entry.at("tiles").at(parameter.name);
    kernel.name = "forward";
    for (const std::string &term : kernel.terms) kernel.name += "_" + term;
    kernel.name += fmt::format("_f32_cuda_d{}{}", kernel.tiles.head_dim, kernel.assume_finite ? "" : "_careful");
    return kernel;
}

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
    find_generator_program({"FLASHWRIGHT_GPU_GENERATOR", "flashwright_generate_gpu",
                            "the generator program of GPU kernels", "a build with cuda in FLASHWRIGHT_BACKENDS"},
                           [&](const std::string &path, const ordered_json &facts) {
                               generator = {path, facts.at("generator_hash"), facts.at("halide"),
                                            facts.at("targets").at("cuda"), facts.at("configuration")};
                           });
    return generator;
}

std::vector<ConfiguredKernel> forward_gpu_kernels(const nlohmann::ordered_json &configuration) {
    std::vector<ConfiguredKernel> kernels;
    std::size_t at = 0;
    try {
        for (const ordered_json &entry : configuration.at("kernels")) {
            const bool tuned = entry.at("op") == "forward" && entry.value("backend", "cuda") == "cuda" &&
                               entry.value("dtype", "f32") == "f32";
            if (tuned) kernels.push_back(kernel_of(entry, at));
            ++at;
        }
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(fmt::format("the configuration of GPU kernels, entry {}: {}", at, error.what()));
    }
    return kernels;
}

nlohmann::ordered_json gpu_tiles_json(const GpuTiles &tiles) {
    ordered_json result;
    for (const GpuTileParameter &parameter : gpu_tile_parameters()) result[parameter.name] = tiles.*parameter.member;
    return result;
}

std::string gpu_tiles_text(const GpuTiles &tiles) {
    std::vector<std::string> parts;
    for (const GpuTileParameter &parameter : gpu_tile_parameters())
        parts.push_back(fmt::format("{}={}", parameter.name, tiles.*parameter.member));
    return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<std::string> gpu_generator_arguments(const std::string &target, const ConfiguredKernel &kernel,
                                                 const GpuTiles &tiles, const std::string &output) {
    std::vector<std::string> command = {"-g",        "forward_gpu", "-f",   kCandidateSymbol,  "-n",
                                        "candidate", "-e",          output, "target=" + target};
    if (!kernel.terms.empty()) command.push_back(fmt::format("terms={}", fmt::join(kernel.terms, "+")));
    command.push_back(fmt::format("assume_finite={}", kernel.assume_finite));
    command.push_back(fmt::format("head_dim={}", tiles.head_dim));
    for (const GpuTileParameter &parameter : gpu_tile_parameters())
        command.push_back(fmt::format("{}={}", parameter.name, tiles.*parameter.member));
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
