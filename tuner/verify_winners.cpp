#include "verify_winners.h"

#include "kernels/tile_spaces.h"
#include "measure/hardware.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/comparison/cpu_target.h"
#include "tuner/comparison/protocol.h"
#include "tuner/comparison/trials.h"
#include "tuner/records/winners.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kHeads = 8;  // the table has none, as they do not enter the choice of a kernel

ShapeSpec shape_of(const ordered_json &row) {
    const ordered_json &shape = row["shape"];
    const std::int64_t head_dim = shape["head_dim"];
    return {1, kHeads, kHeads, shape["seqlen_q"], shape["seqlen_k"], head_dim, head_dim, shape["causal"]};
}

CpuTiles tiles_of_variant(const ordered_json &kernel, const TileSpace &space, const std::string &id) {
    CpuTiles tiles = {};
    for (const auto &variant : kernel["variants"]) {
        if (variant["id"] != id) continue;
        for (const TileParameter &parameter : space.parameters)
            tiles.*parameter.member = variant["tiles"][parameter.name];
    }
    return tiles;
}

Candidate built(CandidateBuilder &builder, const KernelFamily &family, const CpuTiles &tiles,
                const StopRequested &stop_requested) {
    const Build build = builder.build({build_request_of(builder.generator(), family, tiles)}, stop_requested)[0];
    if (build.outcome.end != ChildEnd::finished && build.outcome.end != ChildEnd::interrupted)
        throw std::runtime_error(
            fmt::format("{} cannot be built: {}", variant_id(family.space(), tiles), build.outcome.detail));
    return {build.shared_object, tiles};
}

// None if a stop was requested.
std::optional<VerifiedRow> verify_row(const KernelFamily &family, const ordered_json &kernel, const ordered_json &row,
                                      CandidateBuilder &builder, const TuneOptions &options,
                                      const StopRequested &stop_requested) {
    const std::string id = row["variant"];
    const ShapeSpec shape = shape_of(row);
    const Candidate baseline = built(builder, family, family.baseline_tiles, stop_requested);
    const Candidate winner = built(builder, family, tiles_of_variant(kernel, family.space(), id), stop_requested);
    if (stop_requested()) return std::nullopt;
    Trials trials(make_cpu_target(family, {shape}), options.run_seconds, options.seed, stop_requested);
    CheckResult result = trials.check(baseline, {0});
    if (result.verdict == Verdict::ok) result = trials.calibrate(baseline);
    if (stop_requested()) return std::nullopt;
    if (result.verdict != Verdict::ok)
        throw std::runtime_error(fmt::format("the baseline of {} failed: {}: {}", family.name(),
                                             verdict_name(result.verdict), result.detail));
    VerifiedRow verified = {family, id, to_string(shape), row["ratio"]};
    result = trials.check(winner, {0});
    PairTimes times;
    if (result.verdict == Verdict::ok) {
        times = trials.pairs(baseline, {winner}, 0, kPlacements);
        result = times.fault;
    }
    if (stop_requested()) return std::nullopt;
    if (result.verdict != Verdict::ok) {
        verified.failure = fmt::format("{}: {}", verdict_name(result.verdict), result.detail);
        return verified;
    }
    const Interval logs = hodges_lehmann_interval(times.log_ratios[0]);
    verified.ratio = std::exp(hodges_lehmann(times.log_ratios[0]));
    verified.interval = {std::exp(logs.low), std::exp(logs.high)};
    return verified;
}

}  // namespace

std::vector<VerifiedRow> verify_winners(const std::string &path, const TuneOptions &options,
                                        const TuneListener &listener, const StopRequested &stop_requested) {
    const GeneratorProgram generator = find_generator();
    std::string foreign;
    const ordered_json winners = read_winners(path, generator, &foreign);
    if (winners.is_null()) throw std::runtime_error(foreign);
    CandidateBuilder builder(generator, options.build_cache.empty() ? default_build_cache() : options.build_cache,
                             options.jobs > 0 ? options.jobs : hardware().cores,
                             {options.compile_seconds, kBuildMemory});
    std::vector<VerifiedRow> rows;
    for (const auto &kernel : winners["kernels"]) {
        if (find_tile_space(kernel["op"]) == nullptr) continue;
        KernelFamily family = {kernel["op"], kernel["dtype"], kernel["isa"], kernel["default"], {}};
        family.baseline_tiles = tiles_of_variant(kernel, family.space(), family.baseline_id);
        for (const auto &row : kernel["table"]) {
            if (row["variant"] == family.baseline_id || stop_requested()) continue;
            listener.step(fmt::format("{}: {} on {}", family.name(), row["variant"].get<std::string>(),
                                      to_string(shape_of(row))));
            if (const auto verified = verify_row(family, kernel, row, builder, options, stop_requested))
                rows.push_back(*verified);
        }
    }
    return rows;
}

}  // namespace flashwright
