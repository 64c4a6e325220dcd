#include "baseline.h"

#include "measure/statistics.h"
#include "paired_statistics.h"
#include "protocol.h"
#include "support/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace flashwright {
namespace {

void expect_ok(const TuningSession &session, const CheckResult &result) {
    if (result.verdict != Verdict::ok)
        throw std::runtime_error(fmt::format("the baseline of {} failed: {}: {}", session.family.name(),
                                             verdict_name(result.verdict), result.detail));
}

void record_baseline(TuningSession &session, const Build &build, const CheckResult &check,
                     const std::vector<std::vector<double>> &seconds) {
    session.history.add(session.baseline_point, std::vector<double>(session.shapes(), 1.0));
    CandidateEntry entry = session.candidate_entry(session.baseline_point);
    entry.error = check.error;
    entry.compile_seconds = build.seconds;
    entry.check_seconds = check.seconds;
    entry.baseline = true;
    for (std::size_t s = 0; s < session.shapes(); ++s) entry.shapes[session.shape_name(s)] = {1.0, seconds[s]};
    session.journal.append(entry);
}

}  // namespace

void prepare_baseline(TuningSession &session) {
    session.step("building and checking the baseline");
    const std::string name = session.family.name();
    const std::size_t point = session.baseline_point;
    const Build build = session.builder.build({session.build_request(point)}, session.stop_requested)[0];
    if (build.outcome.end == ChildEnd::interrupted) return;
    if (build.outcome.end != ChildEnd::finished)
        throw std::runtime_error(fmt::format("the baseline of {} could not be built: {}", name, build.outcome.detail));
    const Candidate baseline = {build.shared_object, session.family.baseline_tiles};
    const CheckResult check = session.trials.check(baseline, session.best_seconds);
    if (check.verdict == Verdict::interrupted) return;
    expect_ok(session, check);
    expect_ok(session, session.trials.calibrate(baseline));
    const RoundTimes times =
        session.trials.rounds({baseline}, session.all_shapes(), kBatchRounds, session.options.seed);
    if (times.interrupted || session.stopped()) return;
    expect_ok(session, times.faults[0]);
    for (std::size_t s = 0; s < session.shapes(); ++s)
        session.baseline_seconds[s] = session.best_seconds[s] = quarter(times.seconds[0][s]);
    session.candidates[point] = baseline;
    session.point_of_object[session.identity(build, point)] = point;
    record_baseline(session, build, check, times.seconds[0]);
}

void measure_noise(TuningSession &session) {
    NoiseEntry entry = {session.kernel_id(), {}};
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s) {
        session.step("noise floor of " + session.shape_name(s));
        const double wall = wall_seconds();
        const double expected = 4.0 * kPlacements * (kPairs + 1) * std::max(session.baseline_seconds[s], 3e-3);
        const PairTimes times = paired_with_itself(session.candidate_set(), static_cast<int>(s), kPlacements);
        if (times.fault.verdict == Verdict::interrupted) break;
        expect_ok(session, times.fault);
        session.busy = std::clamp((wall_seconds() - wall) / expected, session.busy, 10.0);
        session.noise_floor[s] = noise_floor_of(times.log_ratios[0]);
        entry.noise_floor[session.shape_name(s)] = session.noise_floor[s];
    }
    session.journal.append(entry);
}

}  // namespace flashwright
