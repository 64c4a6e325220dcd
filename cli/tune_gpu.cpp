#include "tune_gpu.h"

#include "support/interrupt.h"
#include "support/text.h"
#include "tuner/cuda/gpu_results.h"
#include "tuner/cuda/gpu_tuning.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

void print_tiles(const char *what, const AnalyzedGpuTiles &tried) {
    fmt::print("  {}: {}\n", what, gpu_tiles_text(tried.tiles));
    for (const GpuPrediction &prediction : tried.analysis.predictions)
        fmt::print(
            "    {:<7}{} registers, {} bytes spilled, {:.1f} KB shared, occupancy {:.1f} %, FFMA {:.3f}, {:.3f} "
            "cycles per multiply-add\n",
            prediction.architecture, prediction.report.registers, prediction.report.spilled,
            static_cast<double>(prediction.shared_bytes) / 1024, 100 * prediction.occupancy, prediction.share,
            prediction.cycles);
}

void print_predicted(const TunedGpuKernel &kernel) {
    if (kernel.win) {
        print_tiles(kernel.replaces() && !kernel.for_device ? "win" : "best predicted", kernel.tried[kernel.best]);
        fmt::print("  {:.1f} % of the baseline's predicted cycles{}\n", 100 * kernel.ratio,
                   kernel.for_device || kernel.replaces() ? "" : "; the baseline was chosen on a device and stays");
    } else if (!kernel.compared) {
        fmt::print("  nothing was compared; the baseline stays\n");
    } else {
        fmt::print("  {}: the best candidate has {:.1f} % of the baseline's predicted cycles{}\n",
                   kernel.for_device ? "prediction" : "tie", 100 * kernel.ratio,
                   kernel.for_device ? "" : "; the baseline stays");
    }
}

void print_measured(const GpuMeasurement &measured) {
    fmt::print("  measured: {} besides the baseline", measured.candidates.size() - 1);
    for (const auto &[outcome, count] : measured.failures) fmt::print(", {} {}", count, outcome);
    if (!measured.compared) {
        fmt::print("; nothing was compared; the baseline stays\n");
        return;
    }
    const PairedVerdict &best = measured.candidates[measured.best].verdict;
    fmt::print("\n  {}: {:.1f} % of the baseline's time ({:.1f} to {:.1f}, {} pairs, noise floor {:.1f} %)",
               best.win ? "win" : "tie", 100 * best.ratio, 100 * best.interval.low, 100 * best.interval.high,
               best.pairs, 100 * measured.noise_floor);
    fmt::print("{}\n", best.win ? " " + gpu_tiles_text(measured.candidates[measured.best].tiles)
                                : std::string("; the baseline stays"));
}

void print_kernel(const TunedGpuKernel &kernel, bool is_predicted) {
    fmt::print("{}: {} of {} candidates tried", kernel.kernel.name, kernel.tried.size(), kernel.space_size);
    for (const auto &[outcome, count] : kernel.failures) fmt::print(", {} {}", count, outcome);
    fmt::print("\n");
    if (kernel.tried.empty()) return;
    print_tiles("baseline", kernel.tried[0]);
    if (is_predicted) print_predicted(kernel);
    if (kernel.measured) print_measured(*kernel.measured);
    if (kernel.for_device && !kernel.measured) fmt::print("  nothing was measured; the baseline stays\n");
}

ordered_json predictions_json(const AnalyzedGpuTiles &tried) {
    return {{"tiles", gpu_tiles_json(tried.tiles)}, {"predictions", tried.analysis.predictions}};
}

ordered_json kernel_json(const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome) {
    ordered_json result = {{"kernel", kernel.kernel.name},
                           {"op", "forward"},
                           {"dtype", "f32"},
                           {"backend", "cuda"},
                           {"candidates", kernel.tried.size()},
                           {"space", kernel.space_size},
                           {"failures", kernel.failures},
                           {"verdict", kernel.replaces() ? "win"
                                       : kernel.judged() ? "tie"
                                                         : "none"}};
    if (!outcome.architectures.empty() && !kernel.tried.empty()) {
        result["predicted"] = {
            {"model", kGpuModel}, {"ratio", kernel.ratio}, {"baseline", predictions_json(kernel.tried[0])}};
        if (kernel.win) result["predicted"]["best"] = predictions_json(kernel.tried[kernel.best]);
    }
    if (!kernel.measured) return result;
    if (kernel.judged()) result["measured"] = evidence_of(kernel, outcome);
    result["measured"]["failures"] = kernel.measured->failures;
    if (kernel.replaces()) result["measured"]["tiles"] = gpu_tiles_json(kernel.best_tiles());
    return result;
}

void print_outcome(const GpuTuneOutcome &outcome, const TuneOptions &options) {
    for (const TunedGpuKernel &kernel : outcome.kernels) print_kernel(kernel, !outcome.architectures.empty());
    if (!outcome.written) return;
    if (outcome.device) {
        fmt::print("Measured on {} (compute capability {}, driver for CUDA {}). ", outcome.device->name,
                   outcome.device->compute_capability, outcome.device->driver);
        if (outcome.architectures.empty()) {
            fmt::print("Nothing was predicted: the starting points of the search were measured.\n");
        } else {
            fmt::print(
                "The measured candidates were selected by the model {} (docs/gpu.md). Its figures for {} are "
                "predictions, not measurements.\n",
                kGpuModel, fmt::join(outcome.architectures, ", "));
        }
    } else {
        fmt::print(
            "No device was used and nothing was timed ({}). Candidates were ranked by the model {} (docs/gpu.md), from "
            "their code for {}, as ptxas and nvdisasm show it.\n",
            outcome.no_device, kGpuModel, fmt::join(outcome.architectures, ", "));
    }
    fmt::print(
        "Tiles in {}, all results in {}. To build with them, in the source folder:\n"
        "  build/venv/bin/cmake --preset release -DFLASHWRIGHT_GPU_CONFIG={}\n"
        "  build/venv/bin/cmake --build --preset release\n",
        options.output, outcome.results_path, std::filesystem::absolute(options.output).string());
}

}  // namespace

void check_gpu_tuning(const CLI::App &command, const std::string &backend, TuneOptions *options) {
    if (backend == "opencl")
        throw std::invalid_argument(
            "backend: expected cpu or cuda, got opencl: the driver compiles its code, so candidates cannot be ranked "
            "without running them");
    const auto given = [&](const char *name) { return command.count(fmt::format("--{}", name)) > 0; };
    for (const char *name : {"verify", "resume", "warm-start", "isa", "max-variants"}) {
        if (given(name))
            throw std::invalid_argument(fmt::format("{}: expected none with --backend {}, got one", name, backend));
    }
    for (const char *name : {"shape", "shapes", "run-limit", "keep-duplicates"}) {
        if (given(name)) options->for_device.emplace_back(name);
    }
    const auto expect = [&](const char *name, const std::vector<std::string> &values, const char *expected) {
        const auto other =
            std::find_if(values.begin(), values.end(), [&](const std::string &value) { return value != expected; });
        if (other != values.end())
            throw std::invalid_argument(
                fmt::format("{}: expected {} with --backend {}, got {}", name, expected, backend, *other));
    };
    expect("op", options->ops, "forward");
    expect("dtype", options->dtypes, "f32");
}

void run_gpu_tuning(const TuneOptions &options, const TuneListener &listener, bool json) {
    const GpuTuneOutcome outcome = tune_gpu(options, listener, interrupt_requested);
    if (json) {
        ordered_json kernels = ordered_json::array();
        for (const TunedGpuKernel &kernel : outcome.kernels) kernels.push_back(kernel_json(kernel, outcome));
        fmt::print("{}\n", dumped(kernels, 2));
    } else {
        print_outcome(outcome, options);
    }
    std::fflush(stdout);  // before an interrupt ends the program
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
}

}  // namespace flashwright
