#include "tune_gpu.h"

#include "gpu_space.h"
#include "gpu_tuning.h"
#include "interrupt.h"
#include "text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

void print_tiles(const char *what, const TriedGpuTiles &tried) {
    fmt::print("  {}:", what);
    for (const GpuTileParameter &parameter : gpu_tile_parameters())
        fmt::print(" {}={}", parameter.name, tried.tiles.*parameter.member);
    fmt::print("\n");
    for (const GpuPrediction &prediction : tried.trial.predictions)
        fmt::print(
            "    {:<7}{} registers, {} bytes spilled, {:.1f} KB shared, occupancy {:.1f} %, FFMA {:.3f}, {:.3f} "
            "cycles a multiply-add\n",
            prediction.architecture, prediction.report.registers, prediction.report.spilled,
            static_cast<double>(prediction.shared_bytes) / 1024, 100 * prediction.occupancy, prediction.share,
            prediction.cycles);
}

void print_kernel(const TunedGpuKernel &kernel) {
    fmt::print("{}: {} of {} candidates tried", kernel.kernel.name, kernel.tried.size(), kernel.space_size);
    for (const auto &[outcome, count] : kernel.failures) fmt::print(", {} {}", count, outcome);
    fmt::print("\n");
    if (kernel.tried.empty()) return;
    print_tiles("default", kernel.tried[0]);
    if (kernel.win) {
        print_tiles("win", kernel.tried[kernel.best]);
        fmt::print("  {:.1f} % of the default's predicted cycles\n", 100 * kernel.ratio);
    } else if (!kernel.compared) {
        fmt::print("  nothing was compared; the default stays\n");
    } else {
        fmt::print("  tie: the best is predicted to take {:.1f} % of the default's cycles; the default stays\n",
                   100 * kernel.ratio);
    }
}

ordered_json predictions_json(const TriedGpuTiles &tried) {
    ordered_json list = ordered_json::array();
    for (const GpuPrediction &prediction : tried.trial.predictions)
        list.push_back({{"arch", prediction.architecture},
                        {"registers", prediction.report.registers},
                        {"spilled", prediction.report.spilled},
                        {"shared_memory", prediction.shared_bytes},
                        {"occupancy", prediction.occupancy},
                        {"ffma_share", prediction.share},
                        {"predicted_cycles", prediction.cycles}});
    return {{"tiles", gpu_tiles_json(tried.tiles)}, {"predictions", list}};
}

ordered_json kernel_json(const TunedGpuKernel &kernel) {
    ordered_json result = {{"kernel", kernel.kernel.name},
                           {"op", "forward"},
                           {"dtype", "f32"},
                           {"backend", "cuda"},
                           {"model", kGpuModel},
                           {"candidates", kernel.tried.size()},
                           {"space", kernel.space_size},
                           {"failures", kernel.failures},
                           {"verdict", kernel.win        ? "win"
                                       : kernel.compared ? "tie"
                                                         : "none"},
                           {"ratio", kernel.ratio}};
    if (!kernel.tried.empty()) result["default"] = predictions_json(kernel.tried[0]);
    if (kernel.win) result["best"] = predictions_json(kernel.tried[kernel.best]);
    return result;
}

void print_outcome(const GpuTuneOutcome &outcome, const TuneOptions &options) {
    for (const TunedGpuKernel &kernel : outcome.kernels) print_kernel(kernel);
    if (!outcome.written) return;
    fmt::print(
        "No device was used and nothing was timed: candidates were ranked by the model {} (docs/gpu.md), from what "
        "ptxas and nvdisasm show of their code for {}.\n"
        "Tiles in {}, all predictions in {}. To build with them, in the source folder:\n"
        "  build/venv/bin/cmake --preset release -DFLASHWRIGHT_GPU_CONFIG={}\n"
        "  build/venv/bin/cmake --build --preset release\n",
        kGpuModel, fmt::join(outcome.architectures, ", "), options.output, outcome.results_path,
        std::filesystem::absolute(options.output).string());
}

}  // namespace

void check_gpu_tuning(const CLI::App &command, const std::string &backend, const TuneOptions &options) {
    if (backend == "opencl")
        throw std::invalid_argument(
            "backend: expected cpu or cuda, got opencl: its code is compiled by the driver, so there is nothing to "
            "rank "
            "without running it");
    for (const char *name :
         {"verify", "resume", "shape", "shapes", "warm-start", "isa", "max-variants", "run-limit", "keep-duplicates"}) {
        if (command.count(fmt::format("--{}", name)) > 0)
            throw std::invalid_argument(fmt::format("{}: expected none with --backend {}, got one", name, backend));
    }
    const auto expect = [&](const char *name, const std::vector<std::string> &values, const char *expected) {
        const auto other =
            std::find_if(values.begin(), values.end(), [&](const std::string &value) { return value != expected; });
        if (other != values.end())
            throw std::invalid_argument(
                fmt::format("{}: expected {} with --backend {}, got {}", name, expected, backend, *other));
    };
    expect("op", options.ops, "forward");
    expect("dtype", options.dtypes, "f32");
}

void run_gpu_tuning(const TuneOptions &options, const TuneListener &listener, bool json) {
    const GpuTuneOutcome outcome = tune_gpu(options, listener, interrupt_requested);
    if (json) {
        ordered_json kernels = ordered_json::array();
        for (const TunedGpuKernel &kernel : outcome.kernels) kernels.push_back(kernel_json(kernel));
        fmt::print("{}\n", dumped(kernels, 2));
    } else {
        print_outcome(outcome, options);
    }
    std::fflush(stdout);  // before an interrupt ends the program
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
}

}  // namespace flashwright
