#include "tuning_session.h"

#include "tuner/comparison/cpu_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace flashwright {
namespace {

SmallestShape smallest_of(const std::vector<ShapeSpec> &shapes) {
    // The check problems are at least this large.
    SmallestShape smallest = {65, 33, 40};
    for (const ShapeSpec &shape : shapes) {
        smallest.seqlen_k = std::min(smallest.seqlen_k, shape.seqlen_k);
        smallest.head_dim = std::min(smallest.head_dim, shape.head_dim);
        smallest.head_dim_v = std::min(smallest.head_dim_v, shape.head_dim_v);
    }
    return smallest;
}

// space.size() if the configuration is not in the space.
std::size_t find_point(const SearchSpace &space, const Configuration &configuration) {
    std::vector<int> values;
    for (const std::string &name : space.names()) {
        const auto value = configuration.find(name);
        values.push_back(value == configuration.end() ? 0 : value->second);
    }
    return space.find(values);
}

// By shape; empty unless all shapes of the session were timed.
std::vector<double> ratios_in(const CandidateEntry &entry, const TuningSession &session) {
    std::vector<double> ratios;
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        const auto timing = entry.shapes.find(session.shape_name(s));
        if (timing == entry.shapes.end()) return {};
        ratios.push_back(timing->second.ratio);
    }
    return ratios;
}

// A failure on a shape says nothing about other shapes.
bool concerns(const CandidateEntry &failure, const TuningSession &session) {
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        if (failure.failed_on.empty() || failure.failed_on == session.shape_name(s)) return true;
    }
    return false;
}

// False if the entry does not help this session.
bool resume_candidate(TuningSession &session, const CandidateEntry &entry) {
    const std::size_t point = find_point(session.space, entry.configuration);
    if (!(entry.kernel == session.kernel_id()) || point == session.space.size() || session.history.tried(point))
        return false;
    if (entry.verdict != Verdict::ok) {
        if (!concerns(entry, session)) return false;
        ++session.failures[verdict_name(entry.verdict)];
        session.history.add(point, {});
        return true;
    }
    const std::vector<double> ratios = ratios_in(entry, session);
    if (ratios.empty() || !std::filesystem::exists(entry.shared_object)) return false;
    session.candidates[point] = {entry.shared_object, session.tiles(point)};
    session.history.add(point, ratios);
    return true;
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
      space(search_space(family.space(), family.machine(), smallest_of(options.shapes), family.baseline_tiles,
                         options.only)),
      baseline_point(space.find(family.space().point_of(family.baseline_tiles))),
      trials(make_cpu_target(family, options.shapes), options.run_seconds, options.seed, stop_requested),
      history(space.size(), options.shapes.size()),
      baseline_seconds(options.shapes.size()),
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

CandidateSet TuningSession::candidate_set() {
    return {
        trials,
        candidates,
        baseline_point,
        family.name(),
        [this](std::size_t point, const CheckResult &fault) { record_failure(point, candidate_entry(point), fault); },
        listener.warning,
        stop_requested};
}

Configuration TuningSession::configuration(std::size_t point) const {
    Configuration configuration;
    for (std::size_t p = 0; p < space.names().size(); ++p) configuration[space.names()[p]] = space.point(point)[p];
    return configuration;
}

CandidateEntry TuningSession::candidate_entry(std::size_t point) const {
    CandidateEntry entry;
    entry.kernel = kernel_id();
    entry.configuration = configuration(point);
    return entry;
}

void TuningSession::record_failure(std::size_t point, CandidateEntry entry, const CheckResult &fault) {
    entry.verdict = fault.verdict;
    entry.detail = fault.detail;
    if (fault.shape >= 0) entry.failed_on = shape_name(static_cast<std::size_t>(fault.shape));
    ++failures[verdict_name(fault.verdict)];
    candidates.erase(point);
    history.add(point, {});
    journal.append(entry);
}

std::size_t TuningSession::resume() {
    std::size_t known = 0;
    const std::vector<JournalEntry> &entries = journal.entries();
    // The last entry of a point counts.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const auto *candidate = std::get_if<CandidateEntry>(&*entry);
        if (candidate != nullptr && resume_candidate(*this, *candidate)) ++known;
    }
    return known;
}

}  // namespace flashwright
