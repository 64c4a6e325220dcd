#include "gpu_results.h"

#include "flashwright/flashwright.h"
#include "gpu_evidence.h"
#include "support/text.h"
#include "tuner/records/results_file.h"

#include <cmath>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr const char *kFormat = "1.0.0";

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
                           {"x_basis", kPredicted},
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

// As the journal of a CPU kernel has it.
nlohmann::json entry_of(const TunedGpuKernel &kernel, const MeasuredGpuTiles &candidate, const CudaDevice &device) {
    nlohmann::json entry = {{"trial", gpu_tiles_json(candidate.tiles)},
                            {"op", "forward"},
                            {"dtype", "f32"},
                            {"kernel", kernel.kernel.name},
                            {"basis", kMeasured},
                            {"device", device.name},
                            {"verdict", verdict_name(candidate.check.verdict)},
                            {"compile_seconds", candidate.compile_seconds},
                            {"check_seconds", candidate.check.seconds},
                            {"compiling", candidate.compiling},
                            {"default", &candidate == &kernel.measured->candidates[0]}};
    if (candidate.check.seconds > 0)
        entry["error"] = std::isfinite(candidate.check.error) ? nlohmann::json(candidate.check.error) : "infinite";
    if (!candidate.check.detail.empty()) entry["detail"] = candidate.check.detail;
    return entry;
}

// Nothing of what was not run. What has another's code has its ratios.
void add_measured(ordered_json &results, const TunedGpuKernel &kernel, const CudaDevice &device) {
    const std::vector<MeasuredGpuTiles> &all = kernel.measured->candidates;
    for (const MeasuredGpuTiles &candidate : all) {
        const MeasuredGpuTiles &timed = candidate.duplicate_of ? all[*candidate.duplicate_of] : candidate;
        nlohmann::json entry = entry_of(kernel, candidate, device);
        if (candidate.duplicate_of) entry["duplicate_of"] = gpu_tiles_json(timed.tiles);
        const bool failed = candidate.check.verdict != Verdict::ok;
        if (failed && candidate.check.verdict != Verdict::interrupted)
            results.push_back(t4_result(entry, "", nlohmann::json::object()));
        for (std::size_t s = 0; s < timed.ratios.size() && !failed; ++s) {
            nlohmann::json timing = {{"ratio", timed.ratios[s]}};
            if (!candidate.duplicate_of) timing["seconds"] = timed.seconds[s];
            results.push_back(t4_result(entry, to_string(kernel.measured->shapes[s]), timing));
        }
    }
}

ordered_json duel_json(const TunedGpuKernel &kernel) {
    const GpuMeasurement &measured = *kernel.measured;
    ordered_json contestants = ordered_json::array();
    for (const MeasuredGpuTiles &candidate : measured.candidates) {
        if (!candidate.duelled) continue;
        contestants.push_back({{"configuration", gpu_tiles_json(candidate.tiles)},
                               {"ratio", candidate.verdict.ratio},
                               {"interval", {candidate.verdict.interval.low, candidate.verdict.interval.high}},
                               {"p", candidate.verdict.p},
                               {"win", candidate.verdict.win}});
    }
    const std::size_t winner = measured.win() ? measured.best : 0;
    std::string shapes;
    for (const ShapeSpec &shape : measured.shapes) shapes += (shapes.empty() ? "" : " ") + to_string(shape);
    return {{"op", "forward"},
            {"dtype", "f32"},
            {"kernel", kernel.kernel.name},
            {"duel", shapes},
            {"noise_floor", measured.noise_floor},
            {"pairs", measured.candidates[measured.best].verdict.pairs},
            {"contestants", contestants},
            {"verdict", measured.win() ? "win" : "tie"},
            {"winner", gpu_tiles_json(measured.candidates[winner].tiles)}};
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

nlohmann::ordered_json gpu_t4_results(const GpuTuneOutcome &outcome, const GpuGenerator &generator) {
    ordered_json results = ordered_json::array(), duels = ordered_json::array();
    for (const TunedGpuKernel &kernel : outcome.kernels) {
        for (std::size_t i = 0; i < kernel.tried.size(); ++i) add_results(results, kernel, kernel.tried[i], i == 0);
        if (!kernel.measured) continue;
        add_measured(results, kernel, *outcome.device);
        if (kernel.measured->compared) duels.push_back(duel_json(kernel));
    }
    ordered_json machine = {{"device", "none"}, {"model", kGpuModel}};
    if (outcome.device) machine["device"] = device_json(*outcome.device);
    return {{"schema_version", kFormat},
            {"metadata",
             {{"timeunit", "milliseconds"},
              {"x_machine", machine},
              {"x_toolchain",
               {{"flashwright", flashwright_version()},
                {"halide", generator.halide_version},
                {"generator_hash", generator.hash}}},
              {"x_duels", duels}}},
            {"results", results}};
}

}  // namespace flashwright
