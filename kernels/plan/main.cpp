// flashwright_plan: what the build generates. CMake runs it while it configures (cmake/plan_kernels.cmake), on the
// machine that builds.
//   flashwright_plan NAME=VALUE...
// writes the plan and the registry of the kernels that are asked for:
//   defaults, config            the configuration that ships; those to use, one argument each
//   OPS, DTYPES, ISAS           which kernels, one argument each; none: all
//   processor, system, target   CMAKE_SYSTEM_PROCESSOR and CMAKE_SYSTEM_NAME, or instead of both a target of Halide's
//   generator_hash, any_machine, strict   as in kernels/choose_configurations.h
//   source_dir                  files in it are shown by their path from there, others by their name
//   plan, registry, warnings    the files to write
// The plan has a line for each fact: file|PATH, skipped|ISA, target|ISA|HALIDE_TARGET (of every ISA) and
// kernel|NAME|ARGUMENTS. Warnings are any text, which CMake could not read as a list.
// An error is one line on stderr.
#include "kernels/choose_configurations.h"
#include "kernels/kernel_plan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

namespace flashwright {
namespace {

using Arguments = std::map<std::string, std::vector<std::string>>;

Arguments parse(int argc, char **argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos) throw std::invalid_argument("expected NAME=VALUE, got " + argument);
        arguments[argument.substr(0, equals)].push_back(argument.substr(equals + 1));
    }
    return arguments;
}

std::string value(const Arguments &arguments, const std::string &name) {
    const auto found = arguments.find(name);
    return found == arguments.end() ? std::string() : found->second.back();
}

std::vector<std::string> values(const Arguments &arguments, const std::string &name) {
    const auto found = arguments.find(name);
    return found == arguments.end() ? std::vector<std::string>() : found->second;
}

bool truth(const Arguments &arguments, const std::string &name) {
    const std::string text = value(arguments, name);
    return text == "ON" || text == "TRUE" || text == "1";
}

std::string joined(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// The values of OPS, DTYPES or ISAS.
std::vector<std::string> narrowed(const Arguments &arguments, const std::string &name,
                                  const std::vector<std::string> &known) {
    const std::vector<std::string> list = values(arguments, name);
    for (const std::string &item : list) {
        if (std::find(known.begin(), known.end(), item) == known.end())
            throw ConfigurationError(name + ": expected any of " + joined(known) + ", got " + item);
    }
    return list;
}

struct Platform {
    const Processor *processor;
    const System *system;
};

Platform platform_of_target(const std::string &target) {
    std::vector<std::string> known;
    for (const Processor &processor : kProcessors) {
        for (const System &system : kSystems) {
            known.push_back(std::string(processor.halide) + "-" + system.halide);
            if (known.back() == target) return {&processor, &system};
        }
    }
    throw ConfigurationError("expected any of " + joined(known) + "; got " + target);
}

Platform platform_of(const Arguments &arguments) {
    const std::string target = value(arguments, "target");
    if (!target.empty()) return platform_of_target(target);
    const Platform platform = {find_processor(value(arguments, "processor")), find_system(value(arguments, "system"))};
    if (platform.processor == nullptr) {
        std::vector<std::string> known;
        for (const Processor &processor : kProcessors) known.emplace_back(processor.name);
        throw ConfigurationError("CMAKE_SYSTEM_PROCESSOR: expected any of " + joined(known) + ", got " +
                                 value(arguments, "processor"));
    }
    if (platform.system == nullptr) {
        std::vector<std::string> known;
        for (const System &system : kSystems) known.emplace_back(system.name);
        throw ConfigurationError("CMAKE_SYSTEM_NAME: expected any of " + joined(known) + ", got " +
                                 value(arguments, "system"));
    }
    return platform;
}

KernelFilter filter_of(const Arguments &arguments, const Processor &processor) {
    std::vector<std::string> ops, dtypes, isas;
    for (const OpRow &op : kOps) ops.emplace_back(op.name);
    for (const Dtype &dtype : kDtypes)
        if (dtype.on_cpu) dtypes.emplace_back(dtype.name);
    for (const Isa &isa : kIsas)
        if (std::string(isa.processor) == processor.name) isas.emplace_back(isa.name);
    return {processor.name, narrowed(arguments, "OPS", ops), narrowed(arguments, "DTYPES", dtypes),
            narrowed(arguments, "ISAS", isas)};
}

// Paths only as far as the source tree knows them.
std::string shown(const std::string &file, const std::string &source_dir) {
    const std::filesystem::path path = std::filesystem::path(file).lexically_relative(source_dir);
    const bool inside = !source_dir.empty() && !path.empty() && *path.begin() != "..";
    return inside ? path.string() : std::filesystem::path(file).filename().string();
}

// Keeps the file's time where nothing changed, so that nothing is built again.
void write(const std::string &file, const std::string &text) {
    std::ifstream old(file, std::ios::binary);
    if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder);
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream << text << std::flush;
    if (!stream) throw std::runtime_error(file + ": cannot be written");
}

void make_plan(const Arguments &arguments) {
    const Platform platform = platform_of(arguments);
    ConfigurationRequest request;
    request.defaults = value(arguments, "defaults");
    request.files = values(arguments, "config");
    request.filter = filter_of(arguments, *platform.processor);
    request.generator_hash = value(arguments, "generator_hash");
    request.any_machine = truth(arguments, "any_machine");
    request.strict = truth(arguments, "strict");
    const ChosenConfigurations chosen = choose_configurations(request);

    std::string plan;
    std::vector<NamedConfiguration> named;
    for (const Configuration &configuration : chosen.configurations) {
        plan += "file|" + configuration.file + "\n";
        named.push_back({shown(configuration.file, value(arguments, "source_dir")), &configuration});
    }
    std::string warnings;
    for (const std::string &warning : chosen.warnings) warnings += warning + "\n";
    for (const std::string &isa : chosen.catalogue.skipped_isas()) plan += "skipped|" + isa + "\n";
    for (const KernelEntry &entry : chosen.catalogue.entries()) {
        for (const KernelVariant &variant : entry.variants)
            plan += "kernel|" + kernel_name(entry, variant) + "|" +
                    generator_arguments(entry, variant, *platform.system) + "\n";
    }
    for (const Isa &isa : kIsas)
        plan += std::string("target|") + isa.name + "|" + halide_target(isa, *platform.system) + "\n";
    write(value(arguments, "registry"), registry_source(chosen.catalogue, named));
    write(value(arguments, "plan"), plan);
    write(value(arguments, "warnings"), warnings);
}

}  // namespace
}  // namespace flashwright

int main(int argc, char **argv) {
    try {
        flashwright::make_plan(flashwright::parse(argc, argv));
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
