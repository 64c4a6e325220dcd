#include "kernels/gpu_plan.h"
#include "plans.h"

#include <set>

namespace flashwright {
namespace {

const GpuBackend &backend_of(const std::string &name) {
    const GpuBackend *backend = find_gpu_backend(name);
    if (backend != nullptr) return *backend;
    std::vector<std::string> known;
    for (const GpuBackend &row : kGpuBackends) known.emplace_back(row.name);
    throw ConfigurationError("FLASHWRIGHT_BACKENDS: expected any of " + joined(known) + "; got " + name);
}

// The given file serves the backends that ship without one of their own.
std::string configuration_file_of(const GpuBackend &backend, const Arguments &arguments) {
    if (std::string(backend.configuration) == kGpuConfiguration) return arguments.value("config");
    return arguments.value("source_dir") + "/configs/" + backend.configuration;
}

}  // namespace

void plan_gpu(const Arguments &arguments) {
    const Platform platform = platform_of(arguments);
    const std::string host = std::string(platform.processor->halide) + "-" + platform.system->halide;
    std::string plan;
    std::set<std::string> files;
    std::vector<BackendConfiguration> backends;
    std::set<std::string> names;
    for (const std::string &name : arguments.values("backend")) {
        const GpuBackend &backend = backend_of(name);
        if (!names.insert(name).second)
            throw ConfigurationError("FLASHWRIGHT_BACKENDS: expected each backend once, got " + name + " again");
        const std::string file = configuration_file_of(backend, arguments);
        backends.push_back({&backend, read_gpu_configuration(file, backend)});
        if (files.insert(file).second) plan += "file|" + file + "\n";
        plan += "target|" + name + "|" + gpu_halide_target(backend, host) + "\n";
    }
    const GpuPlan planned = plan_gpu_kernels(backends, host);
    for (const GpuProgram &program : planned.programs)
        plan += "kernel|" + program.name + "|" + program.arguments + "\n";
    write_file(arguments.value("registry"), planned.registry);
    write_file(arguments.value("plan"), plan);
    write_file(arguments.value("warnings"), "");
}

}  // namespace flashwright
