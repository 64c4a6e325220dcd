#include "gpu_configuration.h"

#include "kernels/gpu_tile_spaces.h"
#include "tuner/candidates/candidate.h"
#include "tuner/candidates/generator_program.h"

#include <fmt/format.h>

#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

// Older files call threads_per_row parts.
int tile_of(const ordered_json &tiles, const char *name) {
    constexpr const char *kOldName = "parts";
    const bool old = std::string(name) == "threads_per_row" && !tiles.contains(name) && tiles.contains(kOldName);
    return tiles.at(old ? kOldName : name);
}

ConfiguredKernel kernel_of(const ordered_json &entry, std::size_t place) {
    ConfiguredKernel kernel;
    kernel.entry = place;
    kernel.terms = entry.at("terms").get<std::vector<std::string>>();
    kernel.assume_finite = entry.at("assume_finite");
    kernel.tiles = configured_tiles(entry.at("tiles"), entry.at("head_dim"), GpuPass::forward);
    kernel.name = cuda_kernel_name(entry);
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

std::string cuda_kernel_name(const ordered_json &entry) {
    std::string name = entry.at("op");
    for (const std::string &term : entry.at("terms").get<std::vector<std::string>>()) name += "_" + term;
    return fmt::format("{}_{}_cuda_d{}{}", name, entry.value("dtype", "f32"), entry.at("head_dim").get<int>(),
                       entry.at("assume_finite").get<bool>() ? "" : "_nansafe");
}

GpuTiles configured_tiles(const ordered_json &tiles, int head_dim, GpuPass pass) {
    GpuTileContext context;
    context.pass = pass;
    context.head_dim = head_dim;
    std::vector<int> point;
    for (const GpuTileSpace::Parameter &parameter : gpu_tile_space(pass).parameters)
        point.push_back(tile_of(tiles, parameter.name));
    return gpu_tile_space(pass).tiles_of(point, context);
}

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
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters)
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
    if (!kernel.terms.empty()) command.push_back(fmt::format("terms={}", fmt::join(kernel.terms, "+")));
    command.push_back(fmt::format("assume_finite={}", kernel.assume_finite));
    command.push_back(fmt::format("head_dim={}", tiles.head_dim));
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters)
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
