#include "gpu_results.h"

#include "flashwright/flashwright.h"

#include <fmt/format.h>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr const char *kFormat = "1.0.0";

// Six digits say more than a model knows.
ordered_json shortened(double value) { return ordered_json::parse(fmt::format("{:.6g}", value)); }

const char *invalidity(const GpuTrial &trial) {
    if (trial.verdict != Verdict::ok) return "compile";
    return trial.spills ? "constraints" : "correct";
}

ordered_json times_json(double seconds) {
    return {{"compilation_time", 1e3 * seconds},
            {"compilation", 1e3 * seconds},
            {"benchmark", 0},
            {"framework", 0},
            {"search_algorithm", 0},
            {"validation", 0},
            {"runtimes", ordered_json::array()}};
}

ordered_json result_json(const TunedGpuKernel &kernel, const TriedGpuTiles &tried, bool is_default,
                         const std::string &architecture) {
    ordered_json result = {{"configuration", gpu_tiles_json(tried.tiles)},
                           {"objectives", {"ratio"}},
                           {"times", times_json(tried.trial.seconds)},
                           {"invalidity", invalidity(tried.trial)},
                           {"correctness", 0},
                           {"measurements", ordered_json::array()},
                           {"x_op", "forward"},
                           {"x_dtype", "f32"},
                           {"x_kernel", kernel.kernel.name},
                           {"x_arch", architecture},
                           {"x_verdict", tried.trial.outcome()}};
    if (!tried.trial.detail.empty()) result["x_detail"] = tried.trial.detail;
    if (is_default) result["x_default"] = true;
    return result;
}

void add_results(ordered_json &results, const TunedGpuKernel &kernel, const TriedGpuTiles &tried, bool is_default) {
    if (tried.trial.verdict != Verdict::ok) {
        results.push_back(result_json(kernel, tried, is_default, tried.trial.failed_on));
        return;
    }
    for (std::size_t a = 0; a < tried.trial.predictions.size(); ++a) {
        const GpuPrediction &prediction = tried.trial.predictions[a];
        ordered_json result = result_json(kernel, tried, is_default, prediction.architecture);
        result["measurements"] = gpu_measurements(prediction);
        if (!tried.ratios.empty())
            result["measurements"].push_back({{"name", "ratio"}, {"value", shortened(tried.ratios[a])}, {"unit", ""}});
        results.push_back(result);
    }
}

}  // namespace

nlohmann::ordered_json gpu_measurements(const GpuPrediction &prediction) {
    ordered_json measurements = ordered_json::array();
    const auto add = [&](const char *name, const ordered_json &value, const char *unit) {
        measurements.push_back({{"name", name}, {"value", value}, {"unit", unit}});
    };
    add("registers", prediction.report.registers, "");
    add("spilled", prediction.report.spilled, "bytes");
    add("shared_memory", prediction.shared_bytes, "bytes");
    if (prediction.share > 0) {
        add("occupancy", shortened(prediction.occupancy), "");
        add("ffma_share", shortened(prediction.share), "");
        add("predicted_cycles", shortened(prediction.cycles), "cycles a multiply-add");
    }
    return measurements;
}

nlohmann::ordered_json gpu_t4_results(const std::vector<TunedGpuKernel> &kernels, const GpuGenerator &generator) {
    ordered_json results = ordered_json::array();
    for (const TunedGpuKernel &kernel : kernels) {
        for (std::size_t i = 0; i < kernel.tried.size(); ++i) add_results(results, kernel, kernel.tried[i], i == 0);
    }
    return {{"schema_version", kFormat},
            {"metadata",
             {{"timeunit", "milliseconds"},
              {"x_machine", {{"device", "none"}, {"model", kGpuModel}}},
              {"x_toolchain",
               {{"flashwright", flashwright_version()},
                {"halide", generator.halide_version},
                {"generator_hash", generator.hash}}}}},
            {"results", results}};
}

}  // namespace flashwright
