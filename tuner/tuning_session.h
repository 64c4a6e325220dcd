// The state of tuning one CPU kernel: the search space, the candidates and their times.
#pragma once

#include "tune_options.h"
#include "tuner/candidates/candidate_builder.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/comparison/candidate_set.h"
#include "tuner/comparison/trials.h"
#include "tuner/records/journal.h"
#include "tuner/search/search_space.h"

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
    std::size_t baseline_point;
    Trials trials;

    SearchHistory history;
    std::map<std::size_t, Candidate> candidates;                      // built and correct, by point
    std::map<std::string, std::size_t> point_of_object;               // the first point of each identity()
    std::map<std::string, int> failures;                              // number by verdict
    std::vector<double> baseline_seconds, best_seconds, noise_floor;  // by shape
    double busy = 1;                                                  // wall time over CPU time

    std::size_t shapes() const { return options.shapes.size(); }
    std::vector<int> all_shapes() const;
    std::string shape_name(std::size_t shape) const { return to_string(options.shapes[shape]); }
    bool stopped() const { return stop_requested(); }
    void step(const std::string &text) const { listener.step(family.name() + ": " + text); }

    CpuTiles tiles(std::size_t point) const { return family.space().tiles_of(space.point(point)); }
    BuildRequest build_request(std::size_t point) const;
    // The object code and the parameters given at run time: candidates of one identity have the same times.
    std::string identity(const Build &build, std::size_t point) const;
    CandidateSet candidate_set();

    KernelId kernel_id() const { return {family.op, family.dtype, family.isa}; }
    Configuration configuration(std::size_t point) const;
    CandidateEntry candidate_entry(std::size_t point) const;
    // Completes the entry and appends it to the journal.
    void record_failure(std::size_t point, CandidateEntry entry, const CheckResult &fault);

    // Takes over the candidates of the journal; returns their number.
    std::size_t resume();
};

}  // namespace flashwright
