#include "verify_winners.h"

#include "hardware.h"
#include "winners.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr int kPairs = 40;
constexpr std::uint64_t kBuildMemory = std::uint64_t{8} << 30;
constexpr std::int64_t kHeads = 8;  // the table does not say; they do not enter the choice

ShapeSpec shape_of(const ordered_json &row) {
    const ordered_json &shape = row["shape"];
    const std::int64_t head_dim = shape["head_dim"];
    return {1, kHeads, kHeads, shape["seqlen_q"], shape["seqlen_k"], head_dim, head_dim, shape["causal"]};
}

BuildRequest request_of(const KernelFamily &family, const CpuSimdTiles &tiles) {
    BuildRequest request = {family.op, family.dtype, family.isa, {}};
    for (const TileParameter &parameter : forward_parameters()) {
        if (!parameter.run_time) request.tiles.push_back(fmt::format("{}={}", parameter.name, tiles.*parameter.member));
    }
    return request;
}

CpuSimdTiles tiles_of_variant(const ordered_json &kernel, const std::string &id) {
    CpuSimdTiles tiles = {};
    for (const auto &variant : kernel["variants"]) {
        if (variant["id"] != id) continue;
        for (const TileParameter &parameter : forward_parameters())
            tiles.*parameter.member = variant["tiles"][parameter.name];
    }
    return tiles;
}

Contestant built(CandidateBuilder &builder, const KernelFamily &family, const CpuSimdTiles &tiles,
                 const StopRequested &stop_requested) {
    const Build build = builder.build({request_of(family, tiles)}, stop_requested)[0];
    if (build.outcome.end != ChildEnd::finished && build.outcome.end != ChildEnd::interrupted)
        throw std::runtime_error(fmt::format("{} cannot be built: {}", variant_id(tiles), build.outcome.detail));
    return {build.shared_object, tiles};
}

}  // namespace

std::vector<VerifiedRow> verify_winners(const std::string &path, const TuneOptions &options,
                                        const TuneListener &listener, const StopRequested &stop_requested) {
    const GeneratorProgram generator = find_generator();
    std::string problem;
    const ordered_json winners = read_winners(path, generator, &problem);
    if (winners.is_null()) throw std::runtime_error(problem);
    CandidateBuilder builder(generator, options.build_cache.empty() ? default_build_cache() : options.build_cache,
                             options.jobs > 0 ? options.jobs : hardware().cores,
                             {options.compile_seconds, kBuildMemory});
    std::vector<VerifiedRow> rows;
    for (const auto &kernel : winners["kernels"]) {
        const std::string isa = kernel["isa"], dtype = kernel["dtype"], default_id = kernel["default"];
        KernelFamily family = {kernel["op"], dtype, isa, default_id, tiles_of_variant(kernel, default_id)};
        for (const auto &row : kernel["table"]) {
            const std::string id = row["variant"];
            if (id == default_id || stop_requested()) continue;
            const ShapeSpec shape = shape_of(row);
            listener.step(fmt::format("{} {} {}: {} on {}", family.op, dtype, isa, id, to_string(shape)));
            const Contestant anchor = built(builder, family, family.default_tiles, stop_requested);
            const Contestant winner = built(builder, family, tiles_of_variant(kernel, id), stop_requested);
            if (stop_requested()) break;
            Trials trials(dtype == "f64" ? FLASHWRIGHT_F64 : FLASHWRIGHT_F32, isa, {shape}, options.run_seconds,
                          stop_requested);
            for (const Contestant &contestant : {anchor, winner}) {
                const CheckResult check = trials.check(contestant, {0});
                if (check.verdict != Verdict::ok)
                    throw std::runtime_error(fmt::format("{}: {}: {}", id, verdict_name(check.verdict), check.detail));
            }
            trials.calibrate(anchor);
            const PairTimes times = trials.pairs(anchor, {winner}, 0, kPairs);
            if (times.verdict != Verdict::ok || times.log_ratios[0].empty()) continue;
            const Interval logs = hodges_lehmann_interval(times.log_ratios[0]);
            rows.push_back({family,
                            id,
                            to_string(shape),
                            row["ratio"],
                            std::exp(hodges_lehmann(times.log_ratios[0])),
                            {std::exp(logs.low), std::exp(logs.high)}});
        }
    }
    return rows;
}

}  // namespace flashwright
