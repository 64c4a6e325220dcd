#include "kernel_tuning.h"

#include "baseline.h"
#include "candidate_search.h"
#include "clocks.h"
#include "finals.h"
#include "recall.h"

#include <fmt/format.h>

namespace flashwright {

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
    for (const TunedRow &row : result.rows) result.tiles.push_back(session.tiles(row.point));
    result.interrupted = session.stopped();
    result.tried = session.history.order().size();
    result.failures = session.failures;
    result.all_failed = result.tried > 1 && session.contestants.size() <= 1;
    return result;
}

}  // namespace flashwright
