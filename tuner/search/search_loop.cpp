#include "search_loop.h"

#include "strategy.h"
#include "support/clocks.h"
#include "tuner/comparison/protocol.h"

#include <fmt/format.h>

#include <algorithm>

namespace flashwright {
namespace {

// Counts the candidates since the last improvement.
class Patience {
 public:
    explicit Patience(const SearchedKernel &kernel)
        : kernel_(kernel), best_(kernel.best_ratios().size(), 1), last_gain_(tried()) {}

    std::size_t candidates_since_gain() {
        const std::vector<double> ratios = kernel_.best_ratios();
        for (std::size_t i = 0; i < best_.size(); ++i) {
            if (ratios[i] >= kBetter * best_[i]) continue;
            best_[i] = ratios[i];
            last_gain_ = tried();
        }
        return tried() - last_gain_;
    }

 private:
    std::size_t tried() const { return kernel_.history().order().size(); }

    const SearchedKernel &kernel_;
    std::vector<double> best_;
    std::size_t last_gain_;
};

// The time of the remaining candidates at the speed so far, or the time until the deadline if that is less.
std::string time_left(double seconds_per_candidate, std::size_t candidates, double deadline) {
    const double work = seconds_per_candidate * static_cast<double>(candidates);
    const int left = static_cast<int>(std::max(0.0, std::min(work, deadline - wall_seconds())));
    return fmt::format("about {}:{:02} left", left / 60, left % 60);
}

}  // namespace

void search(SearchedKernel &kernel, const TuneOptions &options, double deadline, const StopRequested &stop_requested) {
    const SearchHistory &history = kernel.history();
    const std::size_t size = kernel.space().size();
    const std::size_t planned = options.candidates > 0 ? std::min(options.candidates, size) : size;
    const std::size_t known = history.order().size();
    const auto strategy = make_strategy(options.strategy, kernel.space(), kernel.starts(), options.seed);
    Patience patience(kernel);
    const double start = wall_seconds();
    double batch_seconds = 0;  // of the last batch
    while (!stop_requested() && history.order().size() < planned) {
        if (wall_seconds() + batch_seconds + kernel.reserved_seconds() > deadline) break;
        if (patience.candidates_since_gain() > options.patience) break;
        const std::vector<std::size_t> batch =
            strategy->propose(history, std::min(kBatch, planned - history.order().size()));
        if (batch.empty()) break;
        const double before = wall_seconds();
        kernel.rate(batch);
        batch_seconds = wall_seconds() - before;
        const std::size_t tried = history.order().size();
        const double each = (wall_seconds() - start) / static_cast<double>(std::max<std::size_t>(1, tried - known));
        kernel.report(fmt::format("{} of {} candidates", tried, planned),
                      time_left(each, planned - tried, deadline - kernel.reserved_seconds()));
    }
}

}  // namespace flashwright
