#include "gpu_search.h"

#include "kernels/gpu_tile_spaces.h"
#include "measure/statistics.h"
#include "support/clocks.h"
#include "tuner/comparison/protocol.h"
#include "tuner/search/search_loop.h"

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

class GpuSearch : public SearchedKernel {
 public:
    GpuSearch(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuAnalyzer &analyzer,
              const TuneListener &listener, const StopRequested &stop_requested)
        : analyzer_(analyzer),
          listener_(listener),
          stop_requested_(stop_requested),
          space_(space_of(options, kernel)),
          history_(space_.size(), analyzer.architectures().size()) {
        result_.kernel = kernel;
        result_.space_size = space_.size();
    }

    // Throws std::runtime_error if nothing is known of the baseline then.
    void rate_baseline() {
        step("the baseline");
        analyze({space_.find(cuda_forward_space().point_of(result_.kernel.tiles))}, true);
        if (!result_.tried.empty() && result_.tried[0].analysis.verdict != Verdict::ok)
            throw std::runtime_error(fmt::format("{}: the baseline cannot be analyzed: {}", result_.kernel.name,
                                                 result_.tried[0].analysis.detail));
    }

    const TunedGpuKernel &result() const { return result_; }
    const SearchSpace &space() const override { return space_; }
    const SearchHistory &history() const override { return history_; }

    std::vector<std::size_t> starts() const override {
        std::vector<std::size_t> starts = {space_.find(cuda_forward_space().point_of(result_.kernel.tiles))};
        for (const GpuTiles &tiles : cuda_forward_space().starts(cuda_forward_context(result_.kernel.tiles.head_dim))) {
            const std::size_t point = space_.find(cuda_forward_space().point_of(tiles));
            if (point < space_.size()) starts.push_back(point);
        }
        return starts;
    }

    void rate(const std::vector<std::size_t> &points) override { analyze(points, false); }

    // The geometric mean over the architectures.
    std::vector<double> best_ratios() const override { return {result_.ratio}; }

    void report(const std::string &done, const std::string &left) const override {
        std::string text =
            fmt::format("{}, best {:.1f} % of the baseline's predicted cycles", done, 100 * result_.ratio);
        for (const auto &[outcome, count] : result_.failures) text += fmt::format(", {} {}", count, outcome);
        step(text + ", " + left);
    }

 private:
    void step(const std::string &text) const { listener_.step(result_.kernel.name + ": " + text); }

    void analyze(const std::vector<std::size_t> &points, bool whole) {
        std::vector<GpuTiles> tiles;
        for (const std::size_t point : points)
            tiles.push_back(cuda_forward_space().tiles_of(space_.point(point),
                                                          cuda_forward_context(result_.kernel.tiles.head_dim)));
        std::size_t done = 0;
        const std::vector<GpuAnalysis> analyses = analyzer_.run(result_.kernel, tiles, whole, stop_requested_, [&] {
            listener_.detail(fmt::format("({} of {} done)", ++done, points.size()));
        });
        for (std::size_t i = 0; i < points.size(); ++i) {
            if (analyses[i].verdict != Verdict::interrupted) take(points[i], {tiles[i], analyses[i], {}});
        }
    }

    void take(std::size_t point, AnalyzedGpuTiles tried) {
        const bool baseline = result_.tried.empty();
        const GpuAnalysis &analysis = tried.analysis;
        if (analysis.valid() || (baseline && analysis.verdict == Verdict::ok)) {
            const auto &own = analysis.predictions, &first = baseline ? own : result_.tried[0].analysis.predictions;
            for (std::size_t a = 0; a < own.size(); ++a) tried.ratios.push_back(own[a].cycles / first[a].cycles);
        }
        if (!analysis.valid()) {
            ++result_.failures[analysis.outcome()];
            if (analysis.verdict != Verdict::ok)
                listener_.warning(fmt::format("{}: {}: {}", result_.kernel.name, space_.text(point), analysis.detail));
        }
        history_.add(point, analysis.valid() ? tried.ratios : std::vector<double>{});
        result_.tried.push_back(std::move(tried));
        if (!baseline && result_.tried.back().analysis.valid()) note_valid(result_.tried.size() - 1);
    }

    // Of equal candidates the first is the best. A valid candidate replaces a baseline that spills, whatever its ratio.
    void note_valid(std::size_t at) {
        const double ratio = result_.tried[at].ratio();
        const bool baseline_spills = result_.tried[0].analysis.spills;
        result_.compared = true;
        if (ratio >= result_.ratio && !(baseline_spills && result_.best == 0)) return;
        result_.best = at;
        result_.ratio = ratio;
        result_.win = baseline_spills || ratio <= 1 - kLeastGain;
    }

    const GpuAnalyzer &analyzer_;
    const TuneListener &listener_;
    const StopRequested &stop_requested_;
    SearchSpace space_;
    SearchHistory history_;
    TunedGpuKernel result_;
};

}  // namespace

double AnalyzedGpuTiles::ratio() const { return ratios.empty() ? 1 : geometric_mean(ratios); }

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

TunedGpuKernel search_gpu_tiles(const TuneOptions &options, const ConfiguredKernel &kernel, const GpuAnalyzer &analyzer,
                                const TuneListener &listener, const StopRequested &stop_requested, double deadline) {
    GpuSearch searched(options, kernel, analyzer, listener, stop_requested);
    searched.rate_baseline();
    if (searched.result().tried.empty()) return searched.result();
    search(searched, options, deadline, stop_requested);
    if (searched.result().tried.size() == 1 && wall_seconds() > deadline)
        listener.warning(fmt::format("{}: no time was left to try a candidate (--budget)", kernel.name));
    return searched.result();
}

}  // namespace flashwright
