#include "gpu_tuning.h"

#include "clocks.h"
#include "file.h"
#include "gpu_results.h"
#include "gpu_search.h"
#include "gpu_space.h"
#include "hardware.h"
#include "protocol.h"
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr const char *kHeadDim = "head_dim";

void check_only(const TuneOptions &options) {
    std::vector<std::string> names = {kHeadDim};
    for (const GpuTileParameter &parameter : gpu_tile_parameters()) names.emplace_back(parameter.name);
    for (const auto &[name, values] : options.only) {
        if (std::count(names.begin(), names.end(), name) == 0)
            throw std::invalid_argument(fmt::format("only: expected one of {}, got {}", fmt::join(names, ", "), name));
    }
}

// The kernels of the head dimensions that are asked for.
std::vector<GpuKernel> chosen_kernels(const TuneOptions &options, const GpuGenerator &generator) {
    std::vector<GpuKernel> kernels = forward_gpu_kernels(generator.configuration);
    std::set<int> head_dims;
    for (const GpuKernel &kernel : kernels) head_dims.insert(kernel.tiles.head_dim);
    const auto only = options.only.find(kHeadDim);
    if (only != options.only.end()) {
        for (const int head_dim : only->second) {
            if (head_dims.count(head_dim) == 0)
                throw std::invalid_argument(fmt::format("only: expected a head_dim of some kernel ({}), got {}",
                                                        fmt::join(head_dims, ", "), head_dim));
        }
        kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                     [&](const GpuKernel &kernel) {
                                         return std::count(only->second.begin(), only->second.end(),
                                                           kernel.tiles.head_dim) == 0;
                                     }),
                      kernels.end());
    }
    if (kernels.empty()) throw std::runtime_error("the configuration of GPU kernels has no forward kernel");
    for (const GpuKernel &kernel : kernels) {
        if (gpu_choices(options, kernel).size() == 1)
            throw std::invalid_argument(
                fmt::format("only: expected values of some choice of tiles of {} besides the default", kernel.name));
    }
    return kernels;
}

// What is known so far stays, whatever becomes of one kernel.
void tune_kernels(GpuTuneOutcome &outcome, const TuneOptions &options, const std::vector<GpuKernel> &kernels,
                  const GpuTrials &trials, const TuneListener &listener, const StopRequested &stop_requested,
                  double start) {
    for (std::size_t i = 0; i < kernels.size() && !stop_requested(); ++i) {
        const double left = std::max(0.0, options.budget_seconds - (wall_seconds() - start));
        const double deadline = wall_seconds() + left / static_cast<double>(kernels.size() - i);
        try {
            outcome.kernels.push_back(
                search_gpu_tiles(options, kernels[i], trials, listener, stop_requested, deadline));
        } catch (const std::runtime_error &error) {
            outcome.failure += fmt::format("{}{}", outcome.failure.empty() ? "" : "; ", error.what());
        }
    }
    outcome.interrupted = stop_requested();
}

// The configuration with the tiles that replace the default's; nothing if nothing was compared.
void ship(GpuTuneOutcome &outcome, const TuneOptions &options, const GpuGenerator &generator) {
    nlohmann::ordered_json configuration = generator.configuration;
    for (const TunedGpuKernel &kernel : outcome.kernels) {
        outcome.written = outcome.written || kernel.compared;
        if (kernel.win)
            configuration["kernels"][kernel.kernel.entry]["tiles"] = gpu_tiles_json(kernel.tried[kernel.best].tiles);
    }
    if (outcome.written) write_files({{options.output, configuration_text(configuration), {nullptr, 0}}});
}

}  // namespace

GpuTuneOutcome tune_gpu(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested) {
    const double start = wall_seconds();
    GpuTuneOutcome outcome;
    outcome.results_path = options.results_path();
    check_only(options);
    check_places({options.output, outcome.results_path});
    const GpuGenerator generator = find_gpu_generator();
    const std::vector<GpuKernel> kernels = chosen_kernels(options, generator);
    const int jobs = options.jobs > 0 ? options.jobs : hardware().cores;
    const GpuTrials trials(generator, find_cuda_tools(), jobs, {options.compile_seconds, kBuildMemory});
    for (const GpuArchitecture &architecture : trials.architectures())
        outcome.architectures.emplace_back(architecture.name);
    tune_kernels(outcome, options, kernels, trials, listener, stop_requested, start);
    if (!outcome.kernels.empty())
        write_files(
            {{outcome.results_path, dumped(gpu_t4_results(outcome.kernels, generator), 1) + "\n", {nullptr, 0}}});
    ship(outcome, options, generator);
    if (!outcome.written && !outcome.interrupted && outcome.failure.empty())
        outcome.failure =
            fmt::format("nothing was compared with the default; {} says what became of each candidate; {} is as it was",
                        outcome.results_path, options.output);
    return outcome;
}

}  // namespace flashwright
