#include "cpu_search.h"

#include "measure/statistics.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashwright {
namespace {

CheckResult build_failure(const ChildOutcome &outcome) {
    const bool refused = outcome.end == ChildEnd::failed || outcome.end == ChildEnd::crashed;
    CheckResult fault;
    fault.verdict = refused ? Verdict::compile : verdict_of(outcome.end);
    fault.detail = outcome.detail;
    return fault;
}

}  // namespace

std::vector<std::size_t> CpuSearch::starts() const {
    const TileSpace &tiles = session_.family.space();
    std::vector<CpuTiles> all = warm_starts_;
    const std::vector<CpuTiles> by_model = tiles.starts(session_.family.machine());
    all.insert(all.end(), by_model.begin(), by_model.end());
    std::vector<std::size_t> starts = {session_.baseline_point};
    for (const CpuTiles &choice : all) {
        const std::size_t point = session_.space.find(tiles.point_of(choice));
        if (point < session_.space.size()) starts.push_back(point);
    }
    return starts;
}

void CpuSearch::rate(const std::vector<std::size_t> &points) {
    std::vector<BuildRequest> requests;
    for (const std::size_t point : points) requests.push_back(session_.build_request(point));
    const std::vector<Build> builds = session_.builder.build(requests, session_.stop_requested);
    std::vector<std::size_t> correct;
    Entries entries;
    for (std::size_t i = 0; i < points.size() && !session_.stopped(); ++i) {
        if (builds[i].outcome.end == ChildEnd::interrupted) return;
        if (check(points[i], builds[i], entries)) correct.push_back(points[i]);
    }
    if (!correct.empty() && !session_.stopped()) time(correct, entries);
}

std::vector<double> CpuSearch::best_ratios() const {
    std::vector<double> best;
    for (std::size_t s = 0; s < session_.shapes(); ++s) best.push_back(session_.history.best(s));
    return best;
}

// For the final selection.
double CpuSearch::reserved_seconds() const {
    constexpr double kHalving = 4.0 * kFinalCandidates * kHalvingRounds,
                     kPool = kComparedCandidates * kPoolRounds * 2.0;
    constexpr double kComparison = 4.0 * kPlacements * (kPairs + 1) * kComparedCandidates;
    double samples = 0;  // one of each shape
    for (const double seconds : session_.baseline_seconds) samples += std::max(seconds, 4e-3);
    return (kHalving + kPool + kComparison) * session_.busy * samples;
}

void CpuSearch::report(const std::string &done, const std::string &left) const {
    double best = 1;
    std::size_t at = 0;
    for (std::size_t s = 0; s < session_.shapes(); ++s) {
        if (session_.history.best(s) < best) best = session_.history.best(s), at = s;
    }
    std::string text = fmt::format("{}, best {:.1f} ± {:.1f} % of the baseline's time", done, 100 * best,
                                   100 * session_.noise_floor[at]);
    for (const auto &[verdict, count] : session_.failures) text += fmt::format(", {} {}", count, verdict);
    session_.step(text + ", " + left);
}

// Whether the candidate is correct and ready to be timed. `entries` then holds the first part of its entry.
bool CpuSearch::check(std::size_t point, const Build &build, Entries &entries) {
    CandidateEntry entry = session_.candidate_entry(point);
    entry.compile_seconds = build.seconds;
    if (build.outcome.end != ChildEnd::finished) {
        entry.compiling = true;
        session_.record_failure(point, entry, build_failure(build.outcome));
        return false;
    }
    const std::string identity = session_.identity(build, point);
    const auto same = session_.point_of_object.find(identity);
    if (same != session_.point_of_object.end() && !session_.options.keep_duplicates) {
        record_duplicate(point, entry, same->second);
        return false;
    }
    session_.listener.detail(fmt::format("checking {}", session_.space.text(point)));
    const Candidate candidate = {build.shared_object, session_.tiles(point)};
    const CheckResult result = session_.trials.check(candidate, session_.best_seconds);
    if (result.verdict == Verdict::interrupted) return false;
    entry.error = result.error;
    entry.check_seconds = result.seconds;
    entry.shared_object = build.shared_object;
    if (result.verdict != Verdict::ok) {
        session_.record_failure(point, entry, result);
        return false;
    }
    session_.point_of_object.emplace(identity, point);
    session_.candidates[point] = candidate;
    entries[point] = entry;
    return true;
}

// Beside the baseline and the best candidate so far.
void CpuSearch::time(const std::vector<std::size_t> &points, const Entries &entries) {
    session_.listener.detail("timing");
    std::vector<std::size_t> timed;
    const std::size_t best = session_.history.ranking().front();
    if (best != session_.baseline_point && session_.candidates.count(best) > 0) timed.push_back(best);
    const std::size_t first = timed.size() + 1;
    timed.insert(timed.end(), points.begin(), points.end());
    const RoundTimes times =
        session_.trials.rounds(session_.candidate_set().with_baseline(timed), session_.all_shapes(), kBatchRounds,
                               session_.options.seed + static_cast<std::uint32_t>(session_.history.order().size()));
    if (times.interrupted) return;
    const CheckResult &baseline_fault = times.faults[0];
    if (baseline_fault.verdict != Verdict::ok && points.size() > 1) {
        // A candidate made the baseline fail. Timing each alone tells which one.
        for (const std::size_t point : points) time({point}, entries);
        return;
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
        const CheckResult &fault = baseline_fault.verdict != Verdict::ok ? baseline_fault : times.faults[first + i];
        if (fault.verdict != Verdict::ok) {
            session_.record_failure(points[i], entries.at(points[i]), fault);
        } else {
            record_times(points[i], entries.at(points[i]), times.seconds[first + i], times.seconds[0]);
        }
    }
}

// Its object code equals another's, so it has the other's times.
void CpuSearch::record_duplicate(std::size_t point, CandidateEntry entry, std::size_t original) {
    const std::vector<double> ratios = session_.history.ratios(original);
    entry.duplicate_of = session_.configuration(original);
    for (std::size_t s = 0; s < ratios.size(); ++s) entry.shapes[session_.shape_name(s)] = {ratios[s], {}};
    session_.history.add(point, ratios);
    if (session_.candidates.count(original) > 0) session_.candidates[point] = session_.candidates.at(original);
    session_.journal.append(entry);
}

void CpuSearch::record_times(std::size_t point, CandidateEntry entry, const std::vector<std::vector<double>> &seconds,
                             const std::vector<std::vector<double>> &baseline) {
    std::vector<double> ratios;
    for (std::size_t s = 0; s < session_.shapes(); ++s) {
        ratios.push_back(score(seconds[s], baseline[s]));
        if (!seconds[s].empty()) session_.best_seconds[s] = std::min(session_.best_seconds[s], quarter(seconds[s]));
        entry.shapes[session_.shape_name(s)] = {ratios.back(), seconds[s]};
    }
    session_.history.add(point, ratios);
    session_.journal.append(entry);
}

}  // namespace flashwright
