#include "candidate_batch.h"

#include "measure/statistics.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashwright {
namespace {

using nlohmann::json;
using Entries = std::map<std::size_t, json>;

void record_build_failure(TuningSession &session, std::size_t point, json entry, const ChildOutcome &outcome) {
    entry["compiling"] = true;
    const bool refused = outcome.end == ChildEnd::failed || outcome.end == ChildEnd::crashed;
    session.record_failure(point, entry, {refused ? Verdict::compile : verdict_of(outcome.end), outcome.detail});
}

// Its code is another's: it has the other's times.
void record_duplicate(TuningSession &session, std::size_t point, json entry, std::size_t original) {
    const std::vector<double> ratios = session.history.ratios(original);
    entry["verdict"] = "ok";
    entry["duplicate_of"] = session.configuration(original);
    for (std::size_t s = 0; s < ratios.size(); ++s) entry["shapes"][session.shape_name(s)] = {{"ratio", ratios[s]}};
    session.history.add(point, ratios);
    if (session.contestants.count(original) > 0) session.contestants[point] = session.contestants.at(original);
    session.journal.append(entry);
}

// Whether it is right and ready to be timed; `entries` then holds what its entry says so far.
bool check_candidate(TuningSession &session, std::size_t point, const Build &build, Entries &entries) {
    json entry = session.trial_entry(point);
    entry["compile_seconds"] = build.seconds;
    if (build.outcome.end != ChildEnd::finished) {
        record_build_failure(session, point, entry, build.outcome);
        return false;
    }
    const std::string identity = session.identity(build, point);
    const auto same = session.point_of_object.find(identity);
    if (same != session.point_of_object.end() && !session.options.keep_duplicates) {
        record_duplicate(session, point, entry, same->second);
        return false;
    }
    session.listener.detail(fmt::format("checking {}", session.space.text(point)));
    const Contestant contestant = {build.shared_object, session.tiles(point)};
    const CheckResult check = session.trials.check(contestant, session.best_seconds);
    if (check.verdict == Verdict::interrupted) return false;
    entry["error"] = std::isfinite(check.error) ? json(check.error) : json("infinite");
    entry["check_seconds"] = check.seconds;
    entry["shared_object"] = build.shared_object;
    if (check.verdict != Verdict::ok) {
        session.record_failure(point, entry, check);
        return false;
    }
    session.point_of_object.emplace(identity, point);
    session.contestants[point] = contestant;
    entries[point] = entry;
    return true;
}

void record_times(TuningSession &session, std::size_t point, json entry,
                  const std::vector<std::vector<double>> &seconds, const std::vector<std::vector<double>> &anchor) {
    std::vector<double> ratios;
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        ratios.push_back(score(seconds[s], anchor[s]));
        if (!seconds[s].empty()) session.best_seconds[s] = std::min(session.best_seconds[s], quarter(seconds[s]));
        entry["shapes"][session.shape_name(s)] = {{"ratio", ratios.back()}, {"seconds", seconds[s]}};
    }
    entry["verdict"] = "ok";
    session.history.add(point, ratios);
    session.journal.append(entry);
}

// With the default and the best so far.
void time_batch(TuningSession &session, const std::vector<std::size_t> &points, const Entries &entries) {
    session.listener.detail("timing");
    std::vector<std::size_t> field;
    const std::size_t best = session.history.ranking().front();
    if (best != session.default_point && session.contestants.count(best) > 0) field.push_back(best);
    const std::size_t first = field.size() + 1;
    field.insert(field.end(), points.begin(), points.end());
    const RoundTimes times =
        session.trials.rounds(session.contest().with_anchor(field), session.all_shapes(), kBatchRounds,
                              session.options.seed + static_cast<std::uint32_t>(session.history.order().size()));
    if (times.interrupted) return;
    const CheckResult &anchor_fault = times.faults[0];
    if (anchor_fault.verdict != Verdict::ok && points.size() > 1) {
        // One of them took the default down with it: each alone tells which.
        for (const std::size_t point : points) time_batch(session, {point}, entries);
        return;
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
        const CheckResult &fault = anchor_fault.verdict != Verdict::ok ? anchor_fault : times.faults[first + i];
        if (fault.verdict != Verdict::ok) {
            session.record_failure(points[i], entries.at(points[i]), fault);
        } else {
            record_times(session, points[i], entries.at(points[i]), times.seconds[first + i], times.seconds[0]);
        }
    }
}

}  // namespace

void try_batch(TuningSession &session, const std::vector<std::size_t> &points) {
    std::vector<BuildRequest> requests;
    for (const std::size_t point : points) requests.push_back(session.build_request(point));
    const std::vector<Build> builds = session.builder.build(requests, session.stop_requested);
    std::vector<std::size_t> right;
    Entries entries;
    for (std::size_t i = 0; i < points.size() && !session.stopped(); ++i) {
        if (builds[i].outcome.end == ChildEnd::interrupted) return;
        if (check_candidate(session, points[i], builds[i], entries)) right.push_back(points[i]);
    }
    if (!right.empty() && !session.stopped()) time_batch(session, right, entries);
}

}  // namespace flashwright
