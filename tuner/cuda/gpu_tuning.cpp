#include "gpu_tuning.h"

#include "gpu_measurement_plan.h"
#include "gpu_results.h"
#include "gpu_search.h"
#include "kernels/gpu_tile_spaces.h"
#include "measure/hardware.h"
#include "support/clocks.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr const char *kHeadDim = "head_dim";

void check_only(const TuneOptions &options) {
    std::vector<std::string> names = {kHeadDim};
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters) names.emplace_back(parameter.name);
    for (const auto &[name, values] : options.only) {
        if (std::count(names.begin(), names.end(), name) == 0)
            throw std::invalid_argument(fmt::format("only: expected one of {}, got {}", fmt::join(names, ", "), name));
    }
}

// The kernels of the selected head dimensions.
std::vector<ConfiguredKernel> chosen_kernels(const TuneOptions &options, const GpuGenerator &generator) {
    std::vector<ConfiguredKernel> kernels = forward_gpu_kernels(generator.configuration);
    std::set<int> head_dims;
    for (const ConfiguredKernel &kernel : kernels) head_dims.insert(kernel.tiles.head_dim);
    const auto only = options.only.find(kHeadDim);
    if (only != options.only.end()) {
        for (const int head_dim : only->second) {
            if (head_dims.count(head_dim) == 0)
                throw std::invalid_argument(fmt::format("only: expected a head_dim of some kernel ({}), got {}",
                                                        fmt::join(head_dims, ", "), head_dim));
        }
        kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                     [&](const ConfiguredKernel &kernel) {
                                         return std::count(only->second.begin(), only->second.end(),
                                                           kernel.tiles.head_dim) == 0;
                                     }),
                      kernels.end());
    }
    if (kernels.empty()) throw std::runtime_error("the configuration of GPU kernels has no forward kernel");
    for (const ConfiguredKernel &kernel : kernels) {
        if (gpu_choices(options, kernel).size() == 1)
            throw std::invalid_argument(
                fmt::format("only: expected values that allow a candidate of {} besides the baseline", kernel.name));
    }
    return kernels;
}

void find_device(GpuTuneOutcome &outcome, const TuneOptions &options, const TuneListener &listener,
                 const StopRequested &stop_requested) {
    const DeviceSearch search = find_cuda_device(stop_requested);
    outcome.device = search.device;
    outcome.no_device = search.reason;
    if (!search.device && !options.for_device.empty())
        throw std::invalid_argument(fmt::format("{}: expected none without a CUDA device, got one; {}",
                                                options.for_device.front(), search.reason));
    if (search.failed) listener.warning(fmt::format("{}; nothing is measured", search.reason));
}

// Removes kernels that would be chosen for none of the given shapes.
void keep_kernels_with_shapes(std::vector<ConfiguredKernel> &kernels, const std::vector<ConfiguredKernel> &all,
                              const std::vector<ShapeSpec> &given) {
    for (const ShapeSpec &shape : given) {
        const auto taken = [&](const ConfiguredKernel &kernel) { return !shapes_of(kernel, all, {shape}).empty(); };
        if (std::none_of(kernels.begin(), kernels.end(), taken))
            throw std::invalid_argument(
                fmt::format("shape: expected one that a tuned kernel takes, got {}", to_string(shape)));
    }
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                 [&](const ConfiguredKernel &kernel) { return shapes_of(kernel, all, given).empty(); }),
                  kernels.end());
}

int jobs_of(const TuneOptions &options) { return options.jobs > 0 ? options.jobs : hardware().cores; }

// None if the CUDA tools are missing, which is an error without a device.
std::optional<GpuAnalyzer> make_analyzer(GpuTuneOutcome &outcome, const TuneOptions &options,
                                         const GpuGenerator &generator, const TuneListener &listener) {
    std::optional<GpuAnalyzer> analyzer;
    try {
        analyzer.emplace(generator, find_cuda_tools(), jobs_of(options),
                         ChildLimits{options.compile_seconds, kBuildMemory});
    } catch (const std::runtime_error &error) {
        if (!outcome.device) throw;
        listener.warning(
            fmt::format("{}; without predictions, only the starting points of the search are measured", error.what()));
        return std::nullopt;
    }
    for (const GpuArchitecture &architecture : analyzer->architectures())
        outcome.architectures.emplace_back(architecture.name);
    return analyzer;
}

// Without predictions the starting points of the search are measured.
TunedGpuKernel without_prediction(const TuneOptions &options, const ConfiguredKernel &kernel) {
    TunedGpuKernel tuned;
    tuned.kernel = kernel;
    std::set<std::vector<int>> left;
    for (const GpuTiles &choice : gpu_choices(options, kernel)) left.insert(cuda_forward_space().point_of(choice));
    tuned.space_size = left.size();
    std::vector<GpuTiles> chosen = cuda_forward_space().starts(cuda_forward_context(kernel.tiles.head_dim));
    chosen.insert(chosen.begin(), kernel.tiles);
    for (const GpuTiles &tiles : chosen) {
        if (left.erase(cuda_forward_space().point_of(tiles)) > 0) tuned.tried.push_back({tiles, {}, {}});
    }
    return tuned;
}

// Whether the evidence in a configuration says that a device chose the kernel's tiles.
bool was_measured(const nlohmann::ordered_json &configuration, const std::string &kernel) {
    const auto evidence = configuration.find("evidence");
    return evidence != configuration.end() && evidence->contains(kernel) &&
           (*evidence)[kernel].value("basis", "") == kMeasured;
}

// Tunes the kernels one after the other.
class GpuTuner {
 public:
    GpuTuner(GpuTuneOutcome &outcome, const TuneOptions &options, const GpuGenerator &generator,
             const TuneListener &listener, const StopRequested &stop_requested)
        : outcome_(outcome),
          options_(options),
          target_(generator.target),
          configuration_(generator.configuration.json),
          analyzer_(make_analyzer(outcome, options, generator, listener)),
          listener_(listener),
          stop_requested_(stop_requested),
          all_(forward_gpu_kernels(generator.configuration)),
          builder_({generator.path, generator.hash, generator.halide_version, {}},
                   options.build_cache.empty() ? default_build_cache() : options.build_cache, jobs_of(options),
                   {options.compile_seconds, kBuildMemory}) {}

    // An error in one kernel leaves the others untouched.
    void tune(const std::vector<ConfiguredKernel> &kernels) {
        for (std::size_t i = 0; i < kernels.size() && !stop_requested_(); ++i) {
            const double left = std::max(0.0, options_.budget_seconds - search_seconds_);
            try {
                tune(kernels[i], left / static_cast<double>(kernels.size() - i));
            } catch (const std::runtime_error &error) {
                add_failure(error.what());
            }
        }
        outcome_.interrupted = stop_requested_();
    }

 private:
    void add_failure(const std::string &text) {
        outcome_.failure += fmt::format("{}{}", outcome_.failure.empty() ? "" : "; ", text);
    }

    void tune(const ConfiguredKernel &kernel, double seconds) {
        outcome_.kernels.push_back(analyzer_ ? search(kernel, seconds) : without_prediction(options_, kernel));
        TunedGpuKernel &tuned = outcome_.kernels.back();
        tuned.for_device = outcome_.device.has_value();
        tuned.baseline_measured = was_measured(configuration_, kernel.name);
        if (tuned.for_device) {
            measure(tuned);
        } else if (tuned.win && tuned.baseline_measured) {
            listener_.warning(
                fmt::format("{}: its tiles were chosen on a device, so no prediction replaces them", kernel.name));
        }
    }

    TunedGpuKernel search(const ConfiguredKernel &kernel, double seconds) {
        const double start = wall_seconds();
        TunedGpuKernel tuned =
            search_gpu_tiles(options_, kernel, *analyzer_, listener_, stop_requested_, start + seconds);
        search_seconds_ += wall_seconds() - start;
        return tuned;
    }

    void measure(TunedGpuKernel &tuned) {
        std::vector<GpuTiles> tiles = {tuned.kernel.tiles};
        for (const std::size_t at : gpu_shortlist(tuned.tried, kShortlist)) tiles.push_back(tuned.tried[at].tiles);
        tuned.measured =
            measure_gpu_tiles(options_, tuned.kernel, tiles, shapes_of(tuned.kernel, all_, options_.shapes), target_,
                              builder_, listener_, stop_requested_);
        if (!tuned.measured->failure.empty()) add_failure(tuned.measured->failure);
    }

    GpuTuneOutcome &outcome_;
    const TuneOptions &options_;
    std::string target_;
    const nlohmann::ordered_json &configuration_;
    std::optional<GpuAnalyzer> analyzer_;
    const TuneListener &listener_;
    const StopRequested &stop_requested_;
    std::vector<ConfiguredKernel> all_;
    CandidateBuilder builder_;
    double search_seconds_ = 0;  // of the kernels so far
};

// A prediction does not replace the evidence of a measurement.
void note_evidence(nlohmann::ordered_json &evidence, const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome) {
    if (kernel.measured || !kernel.baseline_measured) evidence[kernel.kernel.name] = evidence_of(kernel, outcome);
}

// A file that would be replaced is a configuration of GPU kernels. Throws ConfigurationError.
void check_old_output(const std::string &path) {
    if (std::filesystem::exists(path)) read_gpu_configuration(path, *find_gpu_backend("cuda"));
}

// Writes the configuration with the new tiles and their evidence, if any kernel was judged.
void write_configuration(GpuTuneOutcome &outcome, const TuneOptions &options, const GpuGenerator &generator) {
    nlohmann::ordered_json configuration = generator.configuration.json;
    for (const TunedGpuKernel &kernel : outcome.kernels) {
        if (!kernel.judged()) continue;
        outcome.written = true;
        note_evidence(configuration["evidence"], kernel, outcome);
        if (kernel.replaces())
            configuration["kernels"][kernel.kernel.index]["tiles"] = gpu_tiles_json(kernel.best_tiles());
    }
    if (outcome.written) write_files({{options.output, configuration_text(configuration), {nullptr, 0}}});
}

}  // namespace

GpuTuneOutcome tune_gpu(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested) {
    GpuTuneOutcome outcome;
    outcome.results_path = options.results_path();
    check_only(options);
    check_places({options.output, outcome.results_path});
    check_old_output(options.output);
    find_device(outcome, options, listener, stop_requested);
    const GpuGenerator generator = find_gpu_generator();
    std::vector<ConfiguredKernel> kernels = chosen_kernels(options, generator);
    keep_kernels_with_shapes(kernels, forward_gpu_kernels(generator.configuration), options.shapes);
    GpuTuner(outcome, options, generator, listener, stop_requested).tune(kernels);
    if (!outcome.kernels.empty())
        write_files({{outcome.results_path,
                      dumped(nlohmann::ordered_json(gpu_results(outcome, generator)), 1) + "\n",
                      {nullptr, 0}}});
    write_configuration(outcome, options, generator);
    if (!outcome.written && !outcome.interrupted && outcome.failure.empty())
        outcome.failure =
            fmt::format("nothing was compared with the baseline; {} has the verdict of each candidate; {} is unchanged",
                        outcome.results_path, options.output);
    return outcome;
}

}  // namespace flashwright
