#include "gpu_search.h"

#include "kernels/gpu_tile_spaces.h"
#include "measure/statistics.h"
#include "support/clocks.h"
#include "tuner/comparison/protocol.h"
#include "tuner/search/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace flashwright {
namespace {

SearchSpace space_of(const TuneOptions &options, const ConfiguredKernel &kernel) {
    std::vector<std::string> names;
    for (const GpuTileSpace::Parameter &parameter : cuda_forward_space().parameters) names.emplace_back(parameter.name);
    std::vector<std::vector<int>> points;
    for (const GpuTiles &tiles : gpu_choices(options, kernel)) points.push_back(cuda_forward_space().point_of(tiles));
    return SearchSpace(names, std::vector<bool>(names.size(), false), points);
}

class GpuSearch {
 public:
    GpuSearch(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuTrials &trials,
              const TuneListener &listener, const StopRequested &stop_requested, double deadline)
        : options_(options),
          trials_(trials),
          listener_(listener),
          stop_requested_(stop_requested),
          deadline_(deadline),
          space_(space_of(options, kernel)),
          history_(space_.size(), trials.architectures().size()),
          planned_(options.candidates > 0 ? std::min(options.candidates, space_.size()) : space_.size()) {
        result_.kernel = kernel;
        result_.space_size = space_.size();
    }

    TunedGpuKernel run() {
        step("the default");
        try_points({space_.find(cuda_forward_space().point_of(result_.kernel.tiles))}, true);
        if (result_.tried.empty()) return result_;
        const GpuTrial &anchor = result_.tried[0].trial;
        if (anchor.verdict != Verdict::ok)
            throw std::runtime_error(
                fmt::format("{}: nothing is known of the default: {}", result_.kernel.name, anchor.detail));
        const auto strategy = make_strategy(options_.strategy, space_, starts(), options_.seed);
        const double start = wall_seconds();
        double batch_seconds = 0;  // of the last one
        while (result_.tried.size() < planned_ && !stop_requested_()) {
            if (wall_seconds() + batch_seconds > deadline_ || since_gain_ > options_.patience) break;
            const std::vector<std::size_t> batch =
                strategy->propose(history_, std::min(kBatch, planned_ - result_.tried.size()));
            if (batch.empty()) break;
            const double before = wall_seconds();
            try_points(batch, false);
            batch_seconds = wall_seconds() - before;
            step(progress(wall_seconds() - start));
        }
        if (result_.tried.size() == 1 && wall_seconds() > deadline_)
            listener_.warning(fmt::format("{}: no time was left to try a candidate (--budget)", result_.kernel.name));
        return result_;
    }

 private:
    void step(const std::string &text) const { listener_.step(result_.kernel.name + ": " + text); }

    std::vector<std::size_t> starts() const {
        std::vector<std::size_t> starts = {space_.find(cuda_forward_space().point_of(result_.kernel.tiles))};
        for (const GpuTiles &tiles : cuda_forward_space().starts(cuda_forward_context(result_.kernel.tiles.head_dim))) {
            const std::size_t point = space_.find(cuda_forward_space().point_of(tiles));
            if (point < space_.size()) starts.push_back(point);
        }
        return starts;
    }

    void try_points(const std::vector<std::size_t> &points, bool whole) {
        std::vector<GpuTiles> tiles;
        for (const std::size_t point : points)
            tiles.push_back(cuda_forward_space().tiles_of(space_.point(point),
                                                          cuda_forward_context(result_.kernel.tiles.head_dim)));
        std::size_t done = 0;
        const std::vector<GpuTrial> trials = trials_.run(result_.kernel, tiles, whole, stop_requested_, [&] {
            listener_.detail(fmt::format("({} of {} done)", ++done, points.size()));
        });
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (trials[i].verdict != Verdict::interrupted) take(points[i], {tiles[i], trials[i], {}});
        }
    }

    // The best of those that do equally well is the first that was tried.
    void take(std::size_t point, TriedGpuTiles tried) {
        const bool anchor = result_.tried.empty();
        const GpuTrial &trial = tried.trial;
        ++since_gain_;
        if (trial.valid() || (anchor && trial.verdict == Verdict::ok)) {
            const auto &own = trial.predictions, &first = anchor ? own : result_.tried[0].trial.predictions;
            for (std::size_t a = 0; a < own.size(); ++a) tried.ratios.push_back(own[a].cycles / first[a].cycles);
        }
        if (!trial.valid()) {
            ++result_.failures[trial.outcome()];
            if (trial.verdict != Verdict::ok)
                listener_.warning(fmt::format("{}: {}: {}", result_.kernel.name, space_.text(point), trial.detail));
        }
        history_.add(point, trial.valid() ? tried.ratios : std::vector<double>{});
        result_.tried.push_back(std::move(tried));
        if (!anchor && result_.tried.back().trial.valid()) note(result_.tried.size() - 1);
    }

    // A valid candidate; one replaces a default that spills whatever is predicted of it.
    void note(std::size_t at) {
        const double ratio = result_.tried[at].ratio();
        const bool default_spills = result_.tried[0].trial.spills;
        result_.compared = true;
        if (ratio >= result_.ratio && !(default_spills && result_.best == 0)) return;
        if (ratio < kBetter * result_.ratio) since_gain_ = 0;
        result_.best = at;
        result_.ratio = ratio;
        result_.win = default_spills || ratio <= 1 - kLeastGain;
    }

    std::string progress(double seconds) const {
        std::string text = fmt::format("{} of {} candidates, best {:.1f} % of the default's predicted cycles",
                                       result_.tried.size(), planned_, 100 * result_.ratio);
        for (const auto &[outcome, count] : result_.failures) text += fmt::format(", {} {}", count, outcome);
        const double each = seconds / static_cast<double>(std::max<std::size_t>(1, result_.tried.size() - 1));
        const double work = each * static_cast<double>(planned_ - result_.tried.size());
        const int left = static_cast<int>(std::max(0.0, std::min(work, deadline_ - wall_seconds())));
        return text + fmt::format(", about {}:{:02} left", left / 60, left % 60);
    }

    const TuneOptions &options_;
    const GpuTrials &trials_;
    const TuneListener &listener_;
    const StopRequested &stop_requested_;
    double deadline_;
    SearchSpace space_;
    SearchHistory history_;
    std::size_t planned_;
    std::size_t since_gain_ = 0;
    TunedGpuKernel result_;
};

}  // namespace

double TriedGpuTiles::ratio() const { return ratios.empty() ? 1 : geometric_mean(ratios); }

std::vector<GpuTiles> gpu_choices(const TuneOptions &options, const ConfiguredKernel &kernel) {
    const auto allowed = [&](const GpuTiles &tiles) {
        return std::all_of(cuda_forward_space().parameters.begin(), cuda_forward_space().parameters.end(),
                           [&](const GpuTileSpace::Parameter &parameter) {
                               const auto values = options.only.find(parameter.name);
                               return values == options.only.end() ||
                                      std::count(values->second.begin(), values->second.end(),
                                                 tiles.*parameter.member) > 0;
                           });
    };
    std::vector<GpuTiles> choices = {kernel.tiles};
    for (const GpuTiles &tiles : cuda_forward_space().choices(cuda_forward_context(kernel.tiles.head_dim))) {
        if (allowed(tiles) && cuda_forward_space().point_of(tiles) != cuda_forward_space().point_of(kernel.tiles))
            choices.push_back(tiles);
    }
    return choices;
}

TunedGpuKernel search_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuTrials &trials,
                                const TuneListener &listener, const StopRequested &stop_requested, double deadline) {
    return GpuSearch(options, kernel, trials, listener, stop_requested, deadline).run();
}

}  // namespace flashwright
