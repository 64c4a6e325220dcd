#include "gpu_measurement.h"

#include "gpu_target.h"
#include "kernels/gpu_tile_spaces.h"
#include "measure/statistics.h"
#include "tuner/comparison/candidate_set.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace flashwright {
namespace {

// For each placement the mean over the shapes.
std::vector<double> mean_over_shapes(const std::vector<std::vector<double>> &log_ratios) {
    std::vector<double> means(log_ratios.front().size(), 0);
    for (const std::vector<double> &of_shape : log_ratios) {
        for (std::size_t i = 0; i < means.size(); ++i) means[i] += of_shape[i] / static_cast<double>(log_ratios.size());
    }
    return means;
}

// Keeps the error and the time of an earlier check.
void note_fault(CheckResult &check, const CheckResult &fault) {
    const CheckResult before = check;
    check = fault;
    check.error = std::max(before.error, fault.error);
    check.seconds = std::max(before.seconds, fault.seconds);
}

class GpuComparison {
 public:
    GpuComparison(const TuneOptions &options, const ConfiguredKernel &kernel, const std::vector<GpuTiles> &tiles,
                  const std::vector<ShapeSpec> &shapes, const std::string &target, CandidateBuilder &builder,
                  const TuneListener &listener, const StopRequested &stop_requested)
        : options_(options),
          kernel_(kernel),
          target_(target),
          builder_(builder),
          listener_(listener),
          stop_requested_(stop_requested),
          trials_(make_gpu_target(kernel, shapes), options.run_seconds, options.seed, stop_requested),
          best_seconds_(shapes.size()),
          all_shapes_(shapes.size()) {
        std::iota(all_shapes_.begin(), all_shapes_.end(), 0);
        result_.shapes = shapes;
        for (const GpuTiles &choice : tiles) {
            result_.candidates.emplace_back();
            result_.candidates.back().tiles = choice;
        }
    }

    GpuMeasurement run() {
        build();
        if (!prepare_baseline()) return result_;
        check_candidates();
        if (built_.size() > 1 && measure_noise()) compare_pairs(rank());
        return result_;
    }

 private:
    void step(const std::string &text) const { listener_.step(kernel_.name + ": " + text); }

    CandidateSet candidate_set() {
        return {trials_,
                built_,
                0,
                kernel_.name,
                [this](std::size_t point, const CheckResult &fault) { drop(point, fault); },
                listener_.warning,
                stop_requested_};
    }

    void drop(std::size_t point, const CheckResult &fault) {
        MeasuredGpuTiles &candidate = result_.candidates[point];
        note_fault(candidate.check, fault);
        built_.erase(point);
        ++result_.failures[verdict_name(fault.verdict)];
        listener_.warning(fmt::format("{}: {}: {}: {}", kernel_.name, gpu_tiles_text(candidate.tiles),
                                      verdict_name(fault.verdict), fault.detail));
    }

    void build() {
        step(fmt::format("building {} candidates", result_.candidates.size()));
        std::vector<BuildRequest> requests;
        for (const MeasuredGpuTiles &candidate : result_.candidates)
            requests.push_back(gpu_generator_arguments(target_, kernel_, candidate.tiles, "object"));
        const std::vector<Build> builds = builder_.build(requests, stop_requested_);
        std::map<std::string, std::size_t> objects;  // the first candidate of each
        for (std::size_t i = 0; i < builds.size(); ++i) take(i, builds[i], objects);
    }

    void take(std::size_t point, const Build &build, std::map<std::string, std::size_t> &objects) {
        MeasuredGpuTiles &candidate = result_.candidates[point];
        candidate.compile_seconds = build.seconds;
        const ChildEnd end = build.outcome.end;
        if (end == ChildEnd::finished) {
            const auto [same, fresh] = objects.emplace(build.object_hash, point);
            if (fresh || options_.keep_duplicates) {
                built_[point] = {build.shared_object, candidate.tiles};
            } else {
                candidate.duplicate_of = same->second;
            }
        } else if (end == ChildEnd::interrupted) {
            candidate.check.verdict = Verdict::interrupted;
        } else {
            const bool refused = end == ChildEnd::failed || end == ChildEnd::crashed;
            candidate.compiling = true;
            drop(point, {refused ? Verdict::compile : verdict_of(end), build.outcome.detail});
        }
    }

    // Notes a failure of the baseline. False for that, and if a stop was requested.
    bool expect_ok(const CheckResult &result) {
        if (result.verdict != Verdict::ok && result.verdict != Verdict::interrupted) {
            note_fault(result_.candidates[0].check, result);
            result_.failure = fmt::format("the baseline of {} failed: {}: {}", kernel_.name,
                                          verdict_name(result.verdict), result.detail);
        }
        return result.verdict == Verdict::ok && !stop_requested_();
    }

    bool prepare_baseline() {
        if (built_.count(0) == 0) return expect_ok(result_.candidates[0].check);
        step("checking the baseline");
        const Candidate &baseline = built_.at(0);
        result_.candidates[0].check = trials_.check(baseline, best_seconds_);
        return expect_ok(result_.candidates[0].check) && expect_ok(trials_.calibrate(baseline));
    }

    bool measure_noise() {
        std::vector<std::vector<double>> log_ratios;
        for (std::size_t s = 0; s < result_.shapes.size(); ++s) {
            step("noise floor of " + to_string(result_.shapes[s]));
            const PairTimes times = paired_with_itself(candidate_set(), static_cast<int>(s), kPlacements);
            if (!expect_ok(times.fault)) return false;
            log_ratios.push_back(times.log_ratios[0]);
        }
        result_.noise_floor = noise_floor_of(mean_over_shapes(log_ratios));
        return true;
    }

    void check_candidates() {
        for (std::size_t point = 1; point < result_.candidates.size() && !stop_requested_(); ++point) {
            if (built_.count(point) == 0) continue;
            MeasuredGpuTiles &candidate = result_.candidates[point];
            step("checking " + gpu_tiles_text(candidate.tiles));
            candidate.check = trials_.check(built_.at(point), best_seconds_);
            if (candidate.check.verdict == Verdict::ok || candidate.check.verdict == Verdict::interrupted) continue;
            drop(point, candidate.check);
        }
    }

    // Times the remaining candidates beside the baseline; returns the fastest, for the paired comparison.
    std::vector<std::size_t> rank() {
        std::vector<std::size_t> points;
        for (const auto &[point, candidate] : built_) {
            if (point != 0) points.push_back(point);
        }
        if (points.empty() || stop_requested_()) return {};
        step(fmt::format("{} candidates beside the baseline", points.size()));
        const RoundTimes times =
            timed_beside_baseline(candidate_set(), points, all_shapes_, kBatchRounds, options_.seed);
        if (times.interrupted || points.empty()) return {};
        note(0, times.seconds[0], times.seconds[0]);
        for (std::size_t i = 0; i < points.size(); ++i) note(points[i], times.seconds[i + 1], times.seconds[0]);
        std::stable_sort(points.begin(), points.end(), [&](std::size_t a, std::size_t b) {
            return geometric_mean(result_.candidates[a].ratios) < geometric_mean(result_.candidates[b].ratios);
        });
        points.resize(std::min(points.size(), kComparedCandidates));
        return points;
    }

    void note(std::size_t point, const std::vector<std::vector<double>> &seconds,
              const std::vector<std::vector<double>> &baseline) {
        MeasuredGpuTiles &candidate = result_.candidates[point];
        candidate.seconds = seconds;
        for (std::size_t s = 0; s < seconds.size(); ++s) candidate.ratios.push_back(score(seconds[s], baseline[s]));
    }

    // A candidate that fails on one shape is out on all.
    void compare_pairs(std::vector<std::size_t> points) {
        std::map<std::size_t, std::vector<std::vector<double>>> log_ratios;  // by point and shape
        for (std::size_t s = 0; s < result_.shapes.size() && !points.empty(); ++s) {
            step("paired comparison on " + to_string(result_.shapes[s]));
            const PairTimes times = paired_with_baseline(candidate_set(), points, static_cast<int>(s), kPlacements);
            if (stop_requested_()) return;
            for (std::size_t i = 0; i < points.size(); ++i) log_ratios[points[i]].push_back(times.log_ratios[i]);
        }
        if (!points.empty()) judge(points, log_ratios);
    }

    void judge(const std::vector<std::size_t> &points,
               std::map<std::size_t, std::vector<std::vector<double>>> &log_ratios) {
        std::vector<std::vector<double>> means;
        for (const std::size_t point : points) means.push_back(mean_over_shapes(log_ratios[point]));
        const std::vector<PairedVerdict> verdicts = judge_pairs(means, result_.noise_floor);
        for (std::size_t i = 0; i < points.size(); ++i) {
            result_.candidates[points[i]].compared = true;
            result_.candidates[points[i]].verdict = verdicts[i];
        }
        result_.compared = true;
        result_.best = preferred(points);
    }

    // The fastest, winners first. Ties between winners are broken by smaller tile, then better prediction.
    std::size_t preferred(std::vector<std::size_t> points) const {
        const auto fastest = [&](std::size_t a, std::size_t b) {
            const PairedVerdict &x = result_.candidates[a].verdict, &y = result_.candidates[b].verdict;
            return std::make_pair(!x.win, x.ratio) < std::make_pair(!y.win, y.ratio);
        };
        const std::size_t best = *std::min_element(points.begin(), points.end(), fastest);
        const PairedVerdict &first = result_.candidates[best].verdict;
        const double near = first.ratio * (1 + least_gain(result_.noise_floor));
        const auto rank = [&](std::size_t point) {
            const MeasuredGpuTiles &candidate = result_.candidates[point];
            const bool apart = !candidate.verdict.win || candidate.verdict.ratio > near;
            return std::make_tuple(apart, candidate.tiles.block_q() * candidate.tiles.block_k, point);
        };
        if (!first.win) return best;
        return *std::min_element(points.begin(), points.end(),
                                 [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    }

    const TuneOptions &options_;
    const ConfiguredKernel &kernel_;
    const std::string &target_;
    CandidateBuilder &builder_;
    const TuneListener &listener_;
    const StopRequested &stop_requested_;
    Trials trials_;
    std::vector<double> best_seconds_;  // none known, so no candidate is rejected as slow
    std::vector<int> all_shapes_;
    std::map<std::size_t, Candidate> built_;  // built and correct
    GpuMeasurement result_;
};

}  // namespace

GpuMeasurement measure_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel,
                                 const std::vector<GpuTiles> &tiles, const std::vector<ShapeSpec> &shapes,
                                 const std::string &target, CandidateBuilder &builder, const TuneListener &listener,
                                 const StopRequested &stop_requested) {
    return GpuComparison(options, kernel, tiles, shapes, target, builder, listener, stop_requested).run();
}

}  // namespace flashwright
