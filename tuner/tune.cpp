#include "tune.h"

#include "measure/hardware.h"
#include "measure/measured_call.h"
#include "support/clocks.h"
#include "support/file.h"
#include "support/text.h"
#include "tuner/comparison/baseline.h"
#include "tuner/comparison/final_selection.h"
#include "tuner/comparison/protocol.h"
#include "tuner/records/results.h"
#include "tuner/records/winners.h"
#include "tuner/search/cpu_search.h"
#include "tuner/tuning_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <tuple>

namespace flashwright {
namespace {

// The part of a shape that a row of the table holds.
auto table_key(const ShapeSpec &shape) {
    return std::make_tuple(shape.seqlen_q, shape.seqlen_k, shape.head_dim, shape.causal);
}

// Batch, heads and the width of V are not part of a row.
void check_rows(const std::vector<ShapeSpec> &shapes) {
    for (auto shape = shapes.begin(); shape != shapes.end(); ++shape) {
        if (shape->head_dim_v != shape->head_dim)
            throw std::invalid_argument(fmt::format(
                "shape {}: expected DV equal to D: a row of the winners file has only one of them", to_string(*shape)));
        const auto same =
            std::find_if(shapes.begin(), shape, [&](const ShapeSpec &s) { return table_key(s) == table_key(*shape); });
        if (same != shape)
            throw std::invalid_argument(fmt::format("shape: {} and {} are the same row of the winners file",
                                                    to_string(*same), to_string(*shape)));
    }
}

// Shapes that the baseline cannot take are served by the generic kernel, which is not tuned.
void check_shapes(const std::vector<ShapeSpec> &shapes, const std::vector<KernelFamily> &families) {
    for (const KernelFamily &family : families) {
        const std::string name = fmt::format("{}_{}_{}_{}", family.op, family.dtype, family.isa, family.baseline_id);
        flashwright_execution execution = {};
        execution.kernel = name.c_str();
        for (const ShapeSpec &shape : shapes) {
            try {
                make_measured_call(family.op, shape, family.element_type())->choose(execution);
            } catch (const std::runtime_error &error) {
                throw std::invalid_argument(fmt::format("shape {}: {}", to_string(shape), error.what()));
            }
        }
    }
}

void check_only(const TuneOptions &options, const std::vector<KernelFamily> &families) {
    std::set<std::string> names;
    for (const KernelFamily &family : families) {
        for (const TileParameter &parameter : family.space().parameters) names.insert(parameter.name);
    }
    for (const auto &[name, values] : options.only) {
        if (names.count(name) == 0)
            throw std::invalid_argument(fmt::format("only: expected one of {}, got {}", fmt::join(names, ", "), name));
    }
    for (const KernelFamily &family : families) {
        if (!options.only.empty() &&
            search_space(family.space(), family.machine(), {}, family.baseline_tiles, options.only).size() == 1)
            throw std::invalid_argument(
                fmt::format("only: expected values that allow a candidate of {} besides the baseline", family.name()));
    }
}

nlohmann::ordered_json warm_start(const TuneOptions &options) {
    if (!options.warm_start.empty()) return read_winners_of_any_machine(options.warm_start);
    return {{"kernels", nlohmann::ordered_json::array()}};
}

// A winners file that cannot be read would not be written to, so the search would be for nothing.
void check_output(const std::string &path) {
    if (std::filesystem::exists(path)) read_winners_of_any_machine(path);
}

// Writes the measured rows of the kernels whose tuning was completed.
void write_winners_of(TuneOutcome &outcome, const TuneOptions &options, const GeneratorProgram &generator,
                      const TuneListener &listener) {
    std::vector<TunedKernel> done;
    std::copy_if(outcome.kernels.begin(), outcome.kernels.end(), std::back_inserter(done),
                 [](const TunedKernel &kernel) { return !kernel.interrupted && !kernel.rows.empty(); });
    if (done.empty()) return;
    std::string warning;
    const std::string results_name = std::filesystem::path(outcome.results_path).filename().string();
    write_winners(options.output, winners_json(done, generator, results_name), generator, &warning);
    if (!warning.empty()) listener.warning(warning);
    outcome.written = true;
}

std::string why_nothing_written(const TuneOutcome &outcome, const TuneOptions &options) {
    const bool all_failed = std::all_of(outcome.kernels.begin(), outcome.kernels.end(),
                                        [](const TunedKernel &kernel) { return kernel.all_failed; });
    if (!all_failed) return fmt::format("nothing was compared with the baseline; {} is unchanged", options.output);
    return fmt::format("no candidate was correct; {} has the reason for each; {} is unchanged", outcome.results_path,
                       options.output);
}

// A row without measurements must not replace one that an earlier run measured.
void drop_unmeasured(const TuningSession &session, TunedKernel &kernel) {
    std::vector<TunedRow> measured;
    for (const TunedRow &row : kernel.rows) {
        if (row.pairs > 0) {
            measured.push_back(row);
        } else if (!kernel.interrupted && !kernel.all_failed) {
            session.listener.warning(fmt::format("{}: the budget was too short for {}: nothing was compared",
                                                 session.family.name(), to_string(row.shape)));
        }
    }
    kernel.rows = measured;
}

// Within `seconds`, if that is possible; `warm_starts` are tried first. Throws std::runtime_error if the baseline
// cannot be built and run.
TunedKernel tune_kernel(const TuneOptions &options, const KernelFamily &family, CandidateBuilder &builder,
                        Journal &journal, const TuneListener &listener, const StopRequested &stop_requested,
                        const std::vector<CpuTiles> &warm_starts, double seconds) {
    const double deadline = wall_seconds() + seconds;
    TuningSession session(options, family, builder, journal, listener, stop_requested);
    TunedKernel result;
    result.family = family;
    result.space_size = session.space.size();
    prepare_baseline(session);
    if (!session.stopped()) measure_noise(session);
    if (!session.stopped()) {
        const std::size_t known = session.resume();
        if (known > 0) session.step(fmt::format("{} candidates are known from the journal", known));
        CpuSearch kernel(session, warm_starts);
        search(kernel, options, deadline, stop_requested);
    }
    if (!session.stopped()) result.rows = run_final_selection(session);
    result.interrupted = session.stopped();
    result.tried = session.history.order().size();
    result.failures = session.failures;
    result.all_failed = result.tried > 1 && session.candidates.size() <= 1;
    drop_unmeasured(session, result);
    for (const TunedRow &row : result.rows) result.tiles.push_back(session.tiles(row.point));
    return result;
}

// An error in one kernel leaves the others untouched.
void tune_kernels(TuneOutcome &outcome, const TuneOptions &options, const std::vector<KernelFamily> &families,
                  CandidateBuilder &builder, Journal &journal, const TuneListener &listener,
                  const StopRequested &stop_requested, double start) {
    const nlohmann::ordered_json warm = warm_start(options);
    for (std::size_t i = 0; i < families.size() && !stop_requested(); ++i) {
        const double left = std::max(0.0, options.budget_seconds - (wall_seconds() - start));
        try {
            outcome.kernels.push_back(tune_kernel(options, families[i], builder, journal, listener, stop_requested,
                                                  tiles_in(warm, families[i]),
                                                  left / static_cast<double>(families.size() - i)));
        } catch (const std::runtime_error &error) {
            outcome.failure += fmt::format("{}{}", outcome.failure.empty() ? "" : "; ", error.what());
        }
    }
    outcome.interrupted = stop_requested();
}

}  // namespace

TuneOutcome tune(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested) {
    const double start = wall_seconds();
    TuneOutcome outcome;
    outcome.results_path = options.results_path();
    const std::vector<KernelFamily> families = kernel_families(options.ops, options.dtypes, options.isas);
    check_rows(options.shapes);
    check_shapes(options.shapes, families);
    check_only(options, families);
    check_places({options.output, outcome.results_path});
    check_output(options.output);
    const GeneratorProgram generator = find_generator();
    const int jobs = options.jobs > 0 ? options.jobs : hardware().cores;
    CandidateBuilder builder(generator, options.build_cache.empty() ? default_build_cache() : options.build_cache, jobs,
                             {options.compile_seconds, kBuildMemory});
    const nlohmann::json identity = {{"machine", hardware().exact}, {"generator_hash", generator.hash}};
    Journal journal(outcome.results_path + ".journal", identity, options.resume);
    if (journal.foreign() > 0)
        listener.warning(
            fmt::format("{}.journal: {} entries are ignored: incomplete, or of another machine or generator",
                        outcome.results_path, journal.foreign()));
    tune_kernels(outcome, options, families, builder, journal, listener, stop_requested, start);
    const std::string results = dumped(nlohmann::ordered_json(results_of(journal.entries(), generator)), 1) + "\n";
    write_files({{outcome.results_path, results, {nullptr, 0}}});
    write_winners_of(outcome, options, generator, listener);
    if (!outcome.written && !outcome.interrupted && outcome.failure.empty())
        outcome.failure = why_nothing_written(outcome, options);
    return outcome;
}

}  // namespace flashwright
