#include "tuning_session.h"

#include "tuner/comparison/cpu_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace flashwright {
namespace {

SmallestShape smallest_of(const std::vector<ShapeSpec> &shapes) {
    // The awkward problems are at least so large.
    SmallestShape smallest = {65, 33, 40};
    for (const ShapeSpec &shape : shapes) {
        smallest.seqlen_k = std::min(smallest.seqlen_k, shape.seqlen_k);
        smallest.head_dim = std::min(smallest.head_dim, shape.head_dim);
        smallest.head_dim_v = std::min(smallest.head_dim_v, shape.head_dim_v);
    }
    return smallest;
}

}  // namespace

TuningSession::TuningSession(const TuneOptions &tune_options, const KernelFamily &kernel_family,
                             CandidateBuilder &candidate_builder, Journal &tuning_journal, TuneListener tune_listener,
                             StopRequested stop)
    : options(tune_options),
      family(kernel_family),
      builder(candidate_builder),
      journal(tuning_journal),
      listener(std::move(tune_listener)),
      stop_requested(std::move(stop)),
      space(search_space(family.space(), family.machine(), smallest_of(options.shapes), family.default_tiles,
                         options.only)),
      default_point(space.find(family.space().point_of(family.default_tiles))),
      trials(make_cpu_subject(family, options.shapes), options.run_seconds, options.seed, stop_requested),
      history(space.size(), options.shapes.size()),
      default_seconds(options.shapes.size()),
      best_seconds(options.shapes.size()),
      noise_floor(options.shapes.size()) {}

std::vector<int> TuningSession::all_shapes() const {
    std::vector<int> all(shapes());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

BuildRequest TuningSession::build_request(std::size_t point) const {
    return build_request_of(builder.generator(), family, tiles(point));
}

std::string TuningSession::identity(const Build &build, std::size_t point) const {
    std::string identity = build.object_hash;
    for (std::size_t p = 0; p < space.names().size(); ++p) {
        if (space.run_time()[p]) identity += fmt::format(" {}", space.point(point)[p]);
    }
    return identity;
}

ContestField TuningSession::contest() {
    return {trials,
            contestants,
            default_point,
            family.name(),
            [this](std::size_t point, const CheckResult &fault) { record_failure(point, trial_entry(point), fault); },
            listener.warning,
            stop_requested};
}

nlohmann::json TuningSession::configuration(std::size_t point) const {
    nlohmann::json configuration;
    for (std::size_t p = 0; p < space.names().size(); ++p) configuration[space.names()[p]] = space.point(point)[p];
    return configuration;
}

nlohmann::json TuningSession::kernel_entry() const {
    return {{"op", family.op}, {"dtype", family.dtype}, {"isa", family.isa}};
}

nlohmann::json TuningSession::trial_entry(std::size_t point) const {
    nlohmann::json entry = kernel_entry();
    entry["trial"] = configuration(point);
    return entry;
}

void TuningSession::record_failure(std::size_t point, nlohmann::json entry, const CheckResult &fault) {
    entry["verdict"] = verdict_name(fault.verdict);
    entry["detail"] = fault.detail;
    if (fault.shape >= 0) entry["failed_on"] = shape_name(static_cast<std::size_t>(fault.shape));
    ++failures[verdict_name(fault.verdict)];
    contestants.erase(point);
    history.add(point, {});
    journal.append(entry);
}

}  // namespace flashwright
