// The search that CPU and CUDA kernels share: batch after batch, until time, candidates or patience are spent.
#pragma once

#include "search_space.h"
#include "support/child_process.h"
#include "tuner/tune_options.h"

#include <cstddef>
#include <string>
#include <vector>

namespace flashwright {

// A kernel whose tiles are searched. Candidates are rated by their times, or by a prediction.
class SearchedKernel {
 public:
    virtual ~SearchedKernel() = default;
    virtual const SearchSpace &space() const = 0;
    virtual const SearchHistory &history() const = 0;
    // Where to begin; the baseline is the first.
    virtual std::vector<std::size_t> starts() const = 0;
    // Builds and rates candidates. Adds each to the history, except where a stop is requested.
    virtual void rate(const std::vector<std::size_t> &points) = 0;
    // The ratios that a search is to lower: an improvement of any resets the patience.
    virtual std::vector<double> best_ratios() const = 0;
    // Time to keep for what follows the search.
    virtual double reserved_seconds() const { return 0; }
    // Reports progress, as "8 of 120 candidates" and "about 1:30 left".
    virtual void report(const std::string &done, const std::string &left) const = 0;
};

// Ends before `deadline`, a wall time, less the reserved seconds.
void search(SearchedKernel &kernel, const TuneOptions &options, double deadline, const StopRequested &stop_requested);

}  // namespace flashwright
