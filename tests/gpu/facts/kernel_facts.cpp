// Prints what ptxas and nvdisasm show of a build's CUDA kernels, as JSON: a list of objects, one for each kernel (of
// backward: each pass) and architecture. scripts/gpu_table.py makes a table of it.
//
//     flashwright_gpu_facts FOLDER_OF_THE_GPU_KERNELS CONFIGURATION
#include "kernels/gpu_configuration.h"
#include "support/child_process.h"
#include "support/file.h"
#include "support/scratch_folder.h"
#include "tuner/cuda/cuda_tools.h"
#include "tuner/cuda/gpu_configuration.h"
#include "tuner/cuda/gpu_model.h"
#include "tuner/cuda/sass_listing.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr ChildLimits kLimits = {600, std::uint64_t{8} << 30};

// A kernel program: a forward kernel or a pass of a backward kernel.
struct Program {
    std::string name;
    GpuPass pass;
    GpuTiles tiles;
};

std::vector<Program> programs_of(const GpuConfiguration &configuration, const GpuBackend &backend) {
    std::vector<Program> programs;
    for (const GpuKernelEntry &entry : configuration.entries) {
        if (!entry.is_for(backend)) continue;
        const std::string name = entry.name_on(backend);
        if (entry.op == Op::forward) programs.push_back({name, GpuPass::forward, entry.tiles});
        for (const GpuPassTiles &pass : entry.passes)
            programs.push_back({name + "_" + pass_label(*pass.row), pass.row->pass, pass.tiles});
    }
    return programs;
}

std::string output_of(const std::vector<std::string> &command, const ScratchFolder &scratch) {
    const std::string log = scratch.path("log");
    const ChildOutcome outcome = run_program(command, kLimits, log);
    if (outcome.end != ChildEnd::finished)
        throw std::runtime_error(fmt::format("{}: {}", fmt::join(command, " "), outcome.detail));
    return text_of(log);
}

// The share of multiply-adds; null if no loop over blocks is found, as in the pass of dbias.
ordered_json share_of(const std::string &listing, const GpuTiles &tiles) {
    try {
        return hot_loop(parse_sass(listing), tiles).share();
    } catch (const std::runtime_error &) {
        return nullptr;
    }
}

ordered_json facts_of(const Program &program, const std::string &ptx, const GpuArchitecture &architecture,
                      const CudaTools &tools, const ScratchFolder &scratch) {
    const std::string cubin = scratch.path("cubin");
    const PtxasReport report = parse_ptxas_report(
        output_of({tools.ptxas, "-v", fmt::format("-arch={}", architecture.name), ptx, "-o", cubin}, scratch));
    const std::int64_t shared = gpu_shared_bytes(program.tiles, program.pass) + report.shared_bytes;
    return {{"kernel", program.name},
            {"tiles", gpu_tiles_json(program.tiles, program.pass)},
            {"architecture", architecture.name},
            {"registers", report.registers},
            {"spilled_bytes", report.spilled},
            {"shared_bytes", shared},
            {"occupancy", occupancy(architecture, {program.tiles.threads, report.registers, shared})},
            {"multiply_add_share", share_of(output_of({tools.nvdisasm, "-c", cubin}, scratch), program.tiles)}};
}

void print_facts(const std::string &folder, const std::string &configuration) {
    const CudaTools tools = find_cuda_tools();
    const ScratchFolder scratch;
    ordered_json facts = ordered_json::array();
    const GpuBackend &cuda = *find_gpu_backend("cuda");
    for (const Program &program : programs_of(read_gpu_configuration(configuration, cuda), cuda)) {
        const std::string ptx = fmt::format("{}/{}.device_code", folder, program.name);
        for (const GpuArchitecture &architecture : tools.architectures)
            facts.push_back(facts_of(program, ptx, architecture, tools, scratch));
    }
    fmt::print("{}\n", facts.dump(1));
}

}  // namespace
}  // namespace flashwright

int main(int argc, char **argv) {
    if (argc != 3) {
        fmt::print(stderr, "flashwright_gpu_facts FOLDER_OF_THE_GPU_KERNELS CONFIGURATION\n");
        return 2;
    }
    try {
        flashwright::print_facts(argv[1], argv[2]);
    } catch (const std::exception &error) {
        fmt::print(stderr, "error: {}\n", error.what());
        return 1;
    }
    return 0;
}
