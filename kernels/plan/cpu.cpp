#include "kernels/choose_configurations.h"
#include "kernels/kernel_plan.h"
#include "plans.h"

#include <algorithm>
#include <filesystem>

namespace flashwright {
namespace {

// The values of OPS, DTYPES or ISAS.
std::vector<std::string> narrowed(const Arguments &arguments, const std::string &name,
                                  const std::vector<std::string> &known) {
    const std::vector<std::string> list = arguments.values(name);
    for (const std::string &item : list) {
        if (std::find(known.begin(), known.end(), item) == known.end())
            throw ConfigurationError(name + ": expected any of " + joined(known) + ", got " + item);
    }
    return list;
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

}  // namespace

void plan_cpu(const Arguments &arguments) {
    const Platform platform = platform_of(arguments);
    ConfigurationRequest request;
    request.defaults = arguments.value("defaults");
    request.files = arguments.values("config");
    request.filter = filter_of(arguments, *platform.processor);
    request.generator_hash = arguments.value("generator_hash");
    request.any_machine = arguments.truth("any_machine");
    request.strict = arguments.truth("strict");
    const ChosenConfigurations chosen = choose_configurations(request);

    std::string plan;
    std::vector<NamedConfiguration> named;
    for (const Configuration &configuration : chosen.configurations) {
        plan += "file|" + configuration.file + "\n";
        named.push_back({shown(configuration.file, arguments.value("source_dir")), &configuration});
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
    write_file(arguments.value("registry"), registry_source(chosen.catalogue, named));
    write_file(arguments.value("plan"), plan);
    write_file(arguments.value("warnings"), warnings);
}

}  // namespace flashwright
