// What the stages of tuning one kernel share: what is tuned, and what is known of its candidates.
#pragma once

#include "tune_listener.h"
#include "tune_options.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/comparison/final_candidates.h"
#include "tuner/comparison/trials.h"
#include "tuner/records/journal.h"
#include "tuner/search/search_history.h"
#include "tuner/search/search_space.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct TuningSession {
    TuningSession(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder, Journal &journal,
                  TuneListener listener, StopRequested stop_requested);

    const TuneOptions &options;
    KernelFamily family;
    CandidateBuilder &builder;
    Journal &journal;
    TuneListener listener;
    StopRequested stop_requested;
    SearchSpace space;
    std::size_t default_point;
    Trials trials;

    SearchHistory history;
    std::map<std::size_t, Contestant> contestants;       // built and right
    std::map<std::string, std::size_t> point_of_object;  // by object and what it is given at run time: the first
    std::map<std::string, int> failures;                 // by verdict
    std::vector<double> default_seconds, best_seconds, noise_floor;  // by shape
    double busy = 1;                                                 // wall time over CPU time

    std::size_t shapes() const { return options.shapes.size(); }
    std::vector<int> all_shapes() const;
    std::string shape_name(std::size_t shape) const { return to_string(options.shapes[shape]); }
    bool stopped() const { return stop_requested(); }
    void step(const std::string &text) const { listener.step(family.name() + ": " + text); }

    CpuSimdTiles tiles(std::size_t point) const { return family.space().tiles_of(space.point(point)); }
    BuildRequest build_request(std::size_t point) const;
    // Tells candidates apart that share an object.
    std::string identity(const Build &build, std::size_t point) const;
    const Contestant &anchor() const { return contestants.at(default_point); }
    ContestField contest();

    // Entries of the journal.
    nlohmann::json configuration(std::size_t point) const;
    nlohmann::json kernel_entry() const;
    nlohmann::json trial_entry(std::size_t point) const;
    // The entry is completed and written.
    void record_failure(std::size_t point, nlohmann::json entry, const CheckResult &fault);
};

}  // namespace flashwright
