#include "cuda_tools.h"

#include "support/child_process.h"
#include "support/file.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace flashwright {
namespace {

namespace fs = std::filesystem;

constexpr ChildLimits kHelpLimits = {30, std::uint64_t{1} << 30};

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string find_tool(const std::string &name, const std::string &package) {
    std::istringstream folders(environment("CUDA_TOOLS") + ":" + environment("PATH") + ":/usr/local/cuda/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const fs::path path = fs::path(folder) / name;
        if (!folder.empty() && fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0) return path.string();
    }
    throw std::runtime_error(fmt::format(
        "{}: expected {}, in the folder that CUDA_TOOLS names, on the PATH or in /usr/local/cuda/bin", name, package));
}

}  // namespace

CudaTools find_cuda_tools() {
    CudaTools tools = {find_tool("ptxas", "the assembler of the CUDA toolkit"),
                       find_tool("nvdisasm", "the disassembler of the CUDA toolkit"),
                       {}};
    const ScratchFolder scratch;
    const std::string log = scratch.path("help");
    run_program({tools.ptxas, "--help"}, kHelpLimits, log);
    tools.architectures = known_architectures(text_of(log));
    if (tools.architectures.empty()) {
        std::vector<std::string> names;
        for (const GpuArchitecture &architecture : gpu_architectures()) names.emplace_back(architecture.name);
        throw std::runtime_error(
            fmt::format("{}: expected support for one of {}, got none", tools.ptxas, fmt::join(names, ", ")));
    }
    return tools;
}

std::vector<GpuArchitecture> known_architectures(const std::string &help) {
    std::vector<GpuArchitecture> known;
    std::copy_if(gpu_architectures().begin(), gpu_architectures().end(), std::back_inserter(known),
                 [&](const GpuArchitecture &architecture) {
                     return help.find(fmt::format("'{}'", architecture.name)) != std::string::npos;
                 });
    return known;
}

PtxasReport parse_ptxas_report(const std::string &text) {
    PtxasReport report;
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("Used ([0-9]+) registers")))
        throw std::runtime_error("expected the number of registers in its report");
    report.registers = std::stoi(found[1]);
    if (std::regex_search(text, found, std::regex("([0-9]+) bytes smem"))) report.shared_bytes = std::stoi(found[1]);
    const std::regex spill("([0-9]+) bytes spill");
    for (std::sregex_iterator match(text.begin(), text.end(), spill); match != std::sregex_iterator(); ++match)
        report.spilled += std::stoi((*match)[1]);
    return report;
}

}  // namespace flashwright
