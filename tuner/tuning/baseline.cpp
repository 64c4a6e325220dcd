#include "baseline.h"

#include "clocks.h"
#include "paired_statistics.h"
#include "protocol.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace flashwright {
namespace {

void record_default(TuningSession &session, const Build &build, const CheckResult &check, double check_seconds) {
    session.history.add(session.default_point, std::vector<double>(session.shapes(), 1.0));
    nlohmann::json entry = session.trial_entry(session.default_point);
    entry["verdict"] = "ok";
    entry["error"] = check.error;
    entry["compile_seconds"] = build.seconds;
    entry["check_seconds"] = check_seconds;
    entry["default"] = true;
    for (std::size_t s = 0; s < session.shapes(); ++s)
        entry["shapes"][session.shape_name(s)] = {{"ratio", 1.0}, {"seconds", {session.default_seconds[s]}}};
    session.journal.append(entry);
}

}  // namespace

void prepare_default(TuningSession &session) {
    session.step("building and checking the default");
    const std::string name = session.family.name();
    const std::size_t point = session.default_point;
    const Build build = session.builder.build({session.build_request(point)}, session.stop_requested)[0];
    if (build.outcome.end == ChildEnd::interrupted) return;
    if (build.outcome.end != ChildEnd::finished)
        throw std::runtime_error(fmt::format("the default of {} could not be built: {}", name, build.outcome.detail));
    const Contestant contestant = {build.shared_object, session.family.default_tiles};
    const double wall = wall_seconds();
    const CheckResult check = session.trials.check(contestant, session.best_seconds);
    if (check.verdict == Verdict::interrupted) return;
    if (check.verdict != Verdict::ok)
        throw std::runtime_error(
            fmt::format("the default of {} failed: {}: {}", name, verdict_name(check.verdict), check.detail));
    session.contestants[point] = contestant;
    session.point_of_object[session.identity(build, point)] = point;
    session.default_seconds = session.best_seconds = session.trials.calibrate(contestant);
    record_default(session, build, check, wall_seconds() - wall);
}

void measure_noise(TuningSession &session) {
    Contestant twin = session.anchor();
    twin.shared_object += fmt::format(".twin{}", getpid());
    std::filesystem::copy_file(session.anchor().shared_object, twin.shared_object,
                               std::filesystem::copy_options::overwrite_existing);
    nlohmann::json entry = session.kernel_entry();
    entry["noise_floor"] = nlohmann::json::object();
    for (std::size_t s = 0; s < session.shapes() && !session.stopped(); ++s) {
        session.step("noise floor of " + session.shape_name(s));
        const double wall = wall_seconds();
        const double expected = 4.0 * (kPreflightPairs + 1) * std::max(session.default_seconds[s], 3e-3);
        const PairTimes times = session.trials.pairs(session.anchor(), {twin}, static_cast<int>(s), kPreflightPairs);
        if (times.verdict != Verdict::ok) continue;
        session.busy = std::clamp((wall_seconds() - wall) / expected, session.busy, 10.0);
        const Interval interval = median_interval(times.log_ratios[0]);
        session.noise_floor[s] = (interval.high - interval.low) / 2;
        entry["noise_floor"][session.shape_name(s)] = session.noise_floor[s];
    }
    std::filesystem::remove(twin.shared_object);
    session.journal.append(entry);
}

}  // namespace flashwright
