#include "gpu_plan.h"

#include "configuration.h"
#include "cpp_text.h"
#include "gpu_stream_kernels.h"
#include "gpu_tile_spaces.h"

#include <string_view>

namespace flashwright {
namespace {

// Kernels bring no Halide runtime; the context of a call is the caller's.
constexpr const char *kFeatures = "-no_runtime-no_bounds_query-user_context";

constexpr std::string_view kDefaultDtype = "f32";  // of the generators

const char *truth(bool value) { return value ? "true" : "false"; }

const GpuTileSpace &space_of(const GpuPassRow *pass) {
    return gpu_tile_space(pass == nullptr ? GpuPass::forward : pass->pass);
}

std::string joined(const std::vector<std::string> &parameters) {
    std::string text;
    for (const std::string &parameter : parameters) text += " " + parameter;
    return text;
}

// The members of GpuTiles.
std::string tiles_source(const GpuTiles &tiles, const GpuPassRow *pass) {
    std::string text = "{" + std::to_string(tiles.head_dim);
    for (const GpuTileSpace::Parameter &parameter : space_of(pass).parameters)
        text += ", " + std::to_string(tiles.*parameter.member);
    return text + "}";
}

// The members of GpuBackwardKernel::Pass.
std::string pass_source(const GpuPassTiles &pass, const std::string &name) {
    std::string text = "{";
    for (const bool flag : {pass.row->dk || pass.row->dv, pass.row->dk, pass.row->dv, pass.row->dbias})
        text += std::string(truth(flag)) + ", ";
    return text + tiles_source(pass.tiles, pass.row) + ", flashwright_" + name + "}";
}

// Collects the plan, backend by backend.
class Planner {
 public:
    explicit Planner(std::string host) : host_(std::move(host)) {}

    void add(const BackendConfiguration &configured) {
        const GpuBackend &backend = *configured.backend;
        const std::string interface = std::string("halide_") + backend.name + "_device_interface";
        features_ += std::string("-") + backend.name;
        interfaces_ += "const halide_device_interface_t *" + interface + "();\n";
        devices_ += std::string("    {\"") + backend.name + "\", " + interface + ", " + streams(backend) + "},\n";
        for (const GpuKernelEntry &entry : configured.configuration.entries)
            if (entry.is_for(backend)) add_kernel(entry, backend);
    }

    GpuPlan plan() {
        const std::string runtime = "flashwright_gpu_runtime";
        programs_.push_back({runtime, "-r " + runtime + " -e object target=" + host_ + features_});
        return {programs_, registry()};
    }

 private:
    void add_program(const std::string &name, const std::string &generator, const std::string &type,
                     const GpuBackend &backend, const std::string &parameters) {
        programs_.push_back({name, "-g " + generator + " -f flashwright_" + name + " -n " + name +
                                       " -e object,stmt,device_code target=" + gpu_halide_target(backend, host_) +
                                       parameters});
        declarations_ += "std::remove_pointer_t<" + type + "> flashwright_" + name + ";\n";
    }

    // The values of GpuDevice for tensors in device memory.
    std::string streams(const GpuBackend &backend) {
        if (backend.stream_driver == nullptr) return "nullptr, {}";
        drivers_ += std::string("extern const GpuStreamDriver ") + backend.stream_driver + ";\n";
        for (const GpuStreamKernel &kernel : kCudaStreamKernels) {
            add_program(kernel.name, kernel.generator, std::string("GpuStreamKernels::") + kernel.type, backend,
                        kernel.parameters);
            stream_kernels_ += std::string("    kernels.") + kernel.member + " = flashwright_" + kernel.name + ";\n";
        }
        return std::string("&") + backend.stream_driver + ", stream_kernels()";
    }

    void add_kernel(const GpuKernelEntry &entry, const GpuBackend &backend) {
        const std::string name = entry.name_on(backend);
        const std::string range = "{\"" + name + "\", \"" + backend.name + "\", FLASHWRIGHT_" +
                                  upper(entry.dtype->name) + ", " + terms_expression(entry.terms) + ", " +
                                  truth(entry.assume_finite) + ", " + std::to_string(entry.head_dim) + "}";
        if (entry.op == Op::forward) {
            add_program(name, "forward_gpu", "GpuForwardKernel", backend,
                        joined(gpu_generator_parameters(entry, entry.tiles)));
            forward_ += "    {" + range + ", " + tiles_source(entry.tiles, nullptr) + ", flashwright_" + name + "},\n";
            return;
        }
        std::string passes;
        for (const GpuPassTiles &pass : entry.passes) {
            const std::string pass_name = name + "_" + pass_label(*pass.row);
            add_program(pass_name, "backward_gpu", "GpuBackwardPass", backend,
                        joined(gpu_generator_parameters(entry, pass.tiles, pass.row)));
            passes += (passes.empty() ? "" : ", ") + pass_source(pass, pass_name);
        }
        backward_ += "    {" + range + ", " + std::to_string(entry.passes.size()) + ", {" + passes + "}},\n";
    }

    std::string registry() const {
        const std::string include = "#include \"gpu_kernels.h\"\n";  // of the generated file, not of this one
        return "// Generated from the configuration of GPU kernels by flashwright_plan.\n" + include + R"(
#include <type_traits>

namespace flashwright {

extern "C" {
)" + declarations_ +
               interfaces_ + "}\n" + drivers_ + R"(
// Of the one backend that takes tensors in device memory, if it is built.
[[maybe_unused]] constexpr GpuStreamKernels stream_kernels() {
    GpuStreamKernels kernels = {};
)" + stream_kernels_ +
               R"(    return kernels;
}

const GpuDevice kGpuDevices[] = {
)" + devices_ +
               R"(};
const int kGpuDeviceCount = sizeof(kGpuDevices) / sizeof(kGpuDevices[0]);

// A last row ends each table, and is not counted: an array may not be empty.
const GpuKernel kGpuKernels[] = {
)" + forward_ +
               R"(    {}};
const int kGpuKernelCount = sizeof(kGpuKernels) / sizeof(kGpuKernels[0]) - 1;

const GpuBackwardKernel kGpuBackwardKernels[] = {
)" + backward_ +
               R"(    {}};
const int kGpuBackwardKernelCount = sizeof(kGpuBackwardKernels) / sizeof(kGpuBackwardKernels[0]) - 1;

}  // namespace flashwright
)";
    }

    std::string host_, features_;
    std::vector<GpuProgram> programs_;
    std::string declarations_, interfaces_, drivers_, stream_kernels_, devices_, forward_, backward_;
};

}  // namespace

GpuPlan plan_gpu_kernels(const std::vector<BackendConfiguration> &backends, const std::string &host) {
    Planner planner(host);
    for (const BackendConfiguration &backend : backends) planner.add(backend);
    return planner.plan();
}

std::string gpu_halide_target(const GpuBackend &backend, const std::string &host) {
    return host + "-" + backend.halide_features + kFeatures;
}

std::vector<std::string> gpu_generator_parameters(const GpuKernelEntry &entry, const GpuTiles &tiles,
                                                  const GpuPassRow *pass) {
    std::vector<std::string> parameters;
    if (entry.terms != 0) parameters.push_back("terms=" + terms_text(entry.terms, "+"));
    if (entry.dtype->name != kDefaultDtype) parameters.push_back(std::string("dtype=") + entry.dtype->halide);
    parameters.push_back(std::string("assume_finite=") + truth(entry.assume_finite));
    parameters.push_back("head_dim=" + std::to_string(tiles.head_dim));
    if (pass != nullptr) parameters.push_back(std::string("sums=") + pass->name);
    for (const GpuTileSpace::Parameter &parameter : space_of(pass).parameters)
        parameters.push_back(std::string(parameter.name) + "=" + std::to_string(tiles.*parameter.member));
    return parameters;
}

}  // namespace flashwright
