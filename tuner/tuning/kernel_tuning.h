// Tunes one kernel (op, dtype, ISA) for some shapes: search, finals, duel.
#pragma once

#include "candidate_builder.h"
#include "journal.h"
#include "paired_statistics.h"
#include "search_history.h"
#include "search_space.h"
#include "strategy.h"
#include "trials.h"
#include "tune_options.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

struct KernelFamily {
    std::string op, dtype, isa;
    std::string default_id;
    CpuSimdTiles default_tiles;
};

// The families that this build and this CPU can tune. Empty lists: all. Throws std::invalid_argument if one that is
// asked for by name is missing.
std::vector<KernelFamily> kernel_families(const std::vector<std::string> &dtypes, const std::vector<std::string> &isas);

// One row of the table to be: what serves a shape.
struct TunedRow {
    ShapeSpec shape;
    bool win = false;  // else the default stays: a tie
    std::size_t point = 0;
    double ratio = 1;  // Hodges-Lehmann, of the best contestant's time over the default's
    Interval interval = {1, 1};
    double p = 1;  // adjusted
    int pairs = 0;
    double noise_floor = 0;
};

struct TunedKernel {
    KernelFamily family;
    std::vector<std::string> parameters;
    std::vector<TunedRow> rows;
    std::vector<std::vector<int>> points;  // of the rows, by row
    std::size_t space_size = 0, tried = 0;
    std::map<std::string, int> failures;  // by verdict
    bool interrupted = false;
    bool all_failed = false;  // nothing but the default could be measured, although something was tried
};

// Where the tuner says how far it is.
struct TuneListener {
    std::function<void(const std::string &)> step, detail, warning;
};

class KernelTuning {
 public:
    KernelTuning(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder, Journal &journal,
                 TuneListener listener, StopRequested stop_requested, std::vector<CpuSimdTiles> warm_starts = {});

    // Within `seconds`, if that is possible. Throws std::runtime_error if the default itself cannot be built and run.
    TunedKernel run(double seconds);

 private:
    struct Finalist {
        std::size_t point;
        double ratio;
    };

    const TuneOptions &options_;
    KernelFamily family_;
    CandidateBuilder &builder_;
    Journal &journal_;
    TuneListener listener_;
    StopRequested stop_requested_;
    std::vector<CpuSimdTiles> warm_starts_;
    SearchSpace space_;
    std::size_t default_point_;
    Trials trials_;
    SearchHistory history_;
    std::map<std::size_t, Contestant> contestants_;       // built and right
    std::map<std::string, std::size_t> point_of_object_;  // to find duplicates
    std::vector<double> default_seconds_, best_seconds_, noise_floor_;
    std::map<std::string, int> failures_;
    double start_ = 0, deadline_ = 0, busy_ = 1;  // wall time over CPU time

    std::vector<std::size_t> starts() const;
    void prepare_default();
    void measure_noise();
    std::size_t replay_journal();
    void search();
    void try_batch(const std::vector<std::size_t> &points);
    void time_batch(const std::vector<std::size_t> &points, const std::map<std::size_t, nlohmann::json> &entries);
    std::vector<Finalist> halve(std::size_t shape, std::vector<std::size_t> points);
    std::vector<TunedRow> finals();
    TunedRow duel(std::size_t shape, const std::vector<std::size_t> &points, std::vector<std::size_t> &shipped);

    BuildRequest build_request(std::size_t point) const;
    nlohmann::json entry_of(std::size_t point) const;
    nlohmann::json configuration(std::size_t point) const;
    double sample_seconds() const;
    double finals_seconds() const;
    std::string progress_text(std::size_t planned) const;
    std::vector<int> all_shapes() const;
    bool stopped() const { return stop_requested_(); }
};

}  // namespace flashwright
