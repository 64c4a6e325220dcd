#include "gpu_results.h"

#include "flashwright/flashwright.h"
#include "kernels/gpu_tile_spaces.h"
#include "support/text.h"

namespace flashwright {
namespace {

using nlohmann::ordered_json;

const KernelId kForward = {"forward", "f32", ""};  // the GPU kernels that are tuned

Configuration configuration_of(const GpuTiles &tiles) {
    Configuration configuration;
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters)
        configuration[parameter.name] = tiles.*parameter.member;
    return configuration;
}

const char *invalidity_of(const GpuAnalysis &analysis) {
    if (analysis.verdict != Verdict::ok) return "compile";
    return analysis.spills ? "constraints" : "correct";
}

TuningResult predicted_result(const TunedGpuKernel &kernel, const AnalyzedGpuTiles &tried,
                              const std::string &architecture) {
    TuningResult result;
    result.configuration = configuration_of(tried.tiles);
    result.compile_milliseconds = 1e3 * tried.analysis.seconds;
    result.invalidity = invalidity_of(tried.analysis);
    result.op = kForward.op;
    result.dtype = kForward.dtype;
    result.verdict = tried.analysis.outcome();
    result.kernel = kernel.kernel.name;
    result.basis = kPredicted;
    result.architecture = architecture;
    result.detail = tried.analysis.detail;
    result.baseline = &tried == &kernel.tried[0];
    return result;
}

std::vector<Measurement> measurements_of(const GpuPrediction &prediction) {
    std::vector<Measurement> measurements = {{"registers", double(prediction.report.registers), ""},
                                             {"spilled", double(prediction.report.spilled), "bytes"},
                                             {"shared_memory", static_cast<double>(prediction.shared_bytes), "bytes"}};
    if (prediction.share > 0) {
        measurements.push_back({"occupancy", rounded(prediction.occupancy), ""});
        measurements.push_back({"ffma_share", rounded(prediction.share), ""});
        measurements.push_back({"predicted_cycles", rounded(prediction.cycles), "cycles per multiply-add"});
    }
    return measurements;
}

void add_predicted(std::vector<TuningResult> &results, const TunedGpuKernel &kernel, const AnalyzedGpuTiles &tried) {
    if (tried.analysis.verdict != Verdict::ok) {
        results.push_back(predicted_result(kernel, tried, tried.analysis.failed_on));
        return;
    }
    for (std::size_t a = 0; a < tried.analysis.predictions.size(); ++a) {
        const GpuPrediction &prediction = tried.analysis.predictions[a];
        TuningResult result = predicted_result(kernel, tried, prediction.architecture);
        result.measurements = measurements_of(prediction);
        if (!tried.ratios.empty()) result.measurements.push_back({"ratio", rounded(tried.ratios[a]), ""});
        results.push_back(result);
    }
}

CandidateEntry entry_of(const TunedGpuKernel &kernel, const MeasuredGpuTiles &candidate) {
    CandidateEntry entry;
    entry.kernel = kForward;
    entry.configuration = configuration_of(candidate.tiles);
    entry.baseline = &candidate == &kernel.measured->candidates[0];
    entry.verdict = candidate.check.verdict;
    entry.compiling = candidate.compiling;
    entry.detail = candidate.check.detail;
    entry.compile_seconds = candidate.compile_seconds;
    entry.check_seconds = candidate.check.seconds;
    if (candidate.check.seconds > 0) entry.error = candidate.check.error;
    if (candidate.duplicate_of)
        entry.duplicate_of = configuration_of(kernel.measured->candidates[*candidate.duplicate_of].tiles);
    return entry;
}

// A candidate that was not run has no result. A duplicate has the ratios of the candidate with the same code.
void add_measured(std::vector<TuningResult> &results, const TunedGpuKernel &kernel, const CudaDevice &device) {
    const std::vector<MeasuredGpuTiles> &all = kernel.measured->candidates;
    for (const MeasuredGpuTiles &candidate : all) {
        const MeasuredGpuTiles &timed = candidate.duplicate_of ? all[*candidate.duplicate_of] : candidate;
        const CandidateEntry entry = entry_of(kernel, candidate);
        const auto add = [&](const std::string &shape, const ShapeTiming *timing) {
            TuningResult result = result_of(entry, shape, timing);
            result.kernel = kernel.kernel.name;
            result.basis = kMeasured;
            result.device = device.name;
            results.push_back(result);
        };
        if (entry.verdict != Verdict::ok) {
            if (entry.verdict != Verdict::interrupted) add("", nullptr);
            continue;
        }
        for (std::size_t s = 0; s < timed.ratios.size(); ++s) {
            ShapeTiming timing = {timed.ratios[s], {}};
            if (!candidate.duplicate_of) timing.seconds = timed.seconds[s];
            add(to_string(kernel.measured->shapes[s]), &timing);
        }
    }
}

ComparisonEntry comparison_of(const TunedGpuKernel &kernel) {
    const GpuMeasurement &measured = *kernel.measured;
    ComparisonEntry entry;
    entry.kernel = kForward;
    entry.gpu_kernel = kernel.kernel.name;
    for (const ShapeSpec &shape : measured.shapes) entry.shape += (entry.shape.empty() ? "" : " ") + to_string(shape);
    entry.noise_floor = measured.noise_floor;
    entry.pairs = measured.candidates[measured.best].verdict.pairs;
    entry.win = measured.win();
    entry.winner = configuration_of(measured.candidates[measured.win() ? measured.best : 0].tiles);
    for (const MeasuredGpuTiles &candidate : measured.candidates) {
        if (candidate.compared) entry.candidates.push_back({configuration_of(candidate.tiles), candidate.verdict});
    }
    return entry;
}

}  // namespace

void to_json(nlohmann::ordered_json &json, const CudaDevice &device) {
    json = {{"name", device.name},
            {"compute_capability", device.compute_capability},
            {"driver", device.driver},
            {"multiprocessors", device.multiprocessors},
            {"clock_mhz", device.clock_mhz}};
}

void to_json(nlohmann::ordered_json &json, const GpuEvidence &evidence) {
    json = {{"basis", evidence.basis}, {"verdict", evidence.win ? "win" : "tie"}};
    if (!evidence.device) {
        json["model"] = kGpuModel;
        json["architectures"] = evidence.architectures;
        json["ratio"] = shortened(evidence.ratio);
        return;
    }
    json["device"] = *evidence.device;
    json["shapes"] = evidence.shapes;
    json["ratio"] = shortened(evidence.ratio);
    json["interval"] = {shortened(evidence.interval.low), shortened(evidence.interval.high)};
    json["pairs"] = evidence.pairs;
    json["noise_floor"] = shortened(evidence.noise_floor);
}

void to_json(nlohmann::ordered_json &json, const GpuPrediction &prediction) {
    json = {{"arch", prediction.architecture},      {"registers", prediction.report.registers},
            {"spilled", prediction.report.spilled}, {"shared_memory", prediction.shared_bytes},
            {"occupancy", prediction.occupancy},    {"ffma_share", prediction.share},
            {"predicted_cycles", prediction.cycles}};
}

GpuEvidence evidence_of(const TunedGpuKernel &kernel, const GpuTuneOutcome &outcome) {
    GpuEvidence evidence;
    evidence.win = kernel.replaces();
    if (!kernel.measured) {
        evidence.basis = kPredicted;
        evidence.architectures = outcome.architectures;
        evidence.ratio = kernel.ratio;
        return evidence;
    }
    const GpuMeasurement &measured = *kernel.measured;
    const PairedVerdict &best = measured.candidates[measured.best].verdict;
    evidence.basis = kMeasured;
    evidence.device = outcome.device;
    for (const ShapeSpec &shape : measured.shapes) evidence.shapes.push_back(to_string(shape));
    evidence.ratio = best.ratio;
    evidence.interval = best.interval;
    evidence.pairs = best.pairs;
    evidence.noise_floor = measured.noise_floor;
    return evidence;
}

TuningResults gpu_results(const GpuTuneOutcome &outcome, const GpuGenerator &generator) {
    TuningResults all;
    for (const TunedGpuKernel &kernel : outcome.kernels) {
        for (const AnalyzedGpuTiles &tried : kernel.tried) add_predicted(all.results, kernel, tried);
        if (!kernel.measured) continue;
        add_measured(all.results, kernel, *outcome.device);
        if (kernel.measured->compared) all.comparisons.push_back(comparison_of(kernel));
    }
    all.machine = {{"device", "none"}, {"model", kGpuModel}};
    if (outcome.device) all.machine["device"] = *outcome.device;
    all.toolchain = {{"flashwright", flashwright_version()},
                     {"halide", generator.halide_version},
                     {"generator_hash", generator.hash}};
    return all;
}

}  // namespace flashwright
