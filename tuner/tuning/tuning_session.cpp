#include "tuning_session.h"

#include "statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
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
      trials(family, options.shapes, options.run_seconds, options.seed, stop_requested),
      history(space.size(), options.shapes.size()),
      default_seconds(options.shapes.size()),
      best_seconds(options.shapes.size()),
      noise_floor(options.shapes.size()) {}

std::vector<int> TuningSession::all_shapes() const {
    std::vector<int> all(shapes());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

BuildRequest TuningSession::build_request(std::size_t point) const { return build_request_of(family, tiles(point)); }

std::string TuningSession::identity(const Build &build, std::size_t point) const {
    std::string identity = build.object_hash;
    for (std::size_t p = 0; p < space.names().size(); ++p) {
        if (space.run_time()[p]) identity += fmt::format(" {}", space.point(point)[p]);
    }
    return identity;
}

std::vector<Contestant> TuningSession::with_anchor(const std::vector<std::size_t> &points) const {
    std::vector<Contestant> field = {anchor()};
    for (const std::size_t point : points) field.push_back(contestants.at(point));
    return field;
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

double score(const std::vector<double> &seconds, const std::vector<double> &anchor) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(seconds.size(), anchor.size()); ++round)
        ratios.push_back(seconds[round] / anchor[round]);
    return ratios.empty() ? std::numeric_limits<double>::infinity() : quarter(ratios);
}

}  // namespace flashwright
