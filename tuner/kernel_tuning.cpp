#include "kernel_tuning.h"

#include "support/clocks.h"
#include "tuner/comparison/baseline.h"
#include "tuner/comparison/final_selection.h"
#include "tuner/records/resume.h"
#include "tuner/search/candidate_search.h"

#include <fmt/format.h>

namespace flashwright {
namespace {

// Rows that nothing was measured for say nothing; they must not replace what an earlier run measured.
void drop_unmeasured(const TuningSession &session, TunedKernel &kernel) {
    std::vector<TunedRow> measured;
    for (const TunedRow &row : kernel.rows) {
        if (row.pairs > 0) {
            measured.push_back(row);
        } else if (!kernel.interrupted && !kernel.all_failed) {
            session.listener.warning(fmt::format("{}: budget too short for {}: nothing was compared",
                                                 session.family.name(), to_string(row.shape)));
        }
    }
    kernel.rows = measured;
}

}  // namespace

TunedKernel tune_kernel(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder,
                        Journal &journal, const TuneListener &listener, const StopRequested &stop_requested,
                        const std::vector<CpuSimdTiles> &warm_starts, double seconds) {
    const double deadline = wall_seconds() + seconds;
    TuningSession session(options, family, builder, journal, listener, stop_requested);
    TunedKernel result;
    result.family = family;
    result.space_size = session.space.size();
    prepare_default(session);
    if (!session.stopped()) measure_noise(session);
    if (!session.stopped()) {
        const std::size_t known = recall(session);
        if (known > 0) session.step(fmt::format("{} candidates are known from the journal", known));
        search(session, warm_starts, deadline);
    }
    if (!session.stopped()) result.rows = run_finals(session);
    result.interrupted = session.stopped();
    result.tried = session.history.order().size();
    result.failures = session.failures;
    result.all_failed = result.tried > 1 && session.contestants.size() <= 1;
    drop_unmeasured(session, result);
    for (const TunedRow &row : result.rows) result.tiles.push_back(session.tiles(row.point));
    return result;
}

}  // namespace flashwright
