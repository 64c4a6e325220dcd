#include "tune.h"

#include "clocks.h"
#include "file.h"
#include "hardware.h"
#include "kernel_tuning.h"
#include "measured_call.h"
#include "protocol.h"
#include "results_file.h"
#include "winners.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

// winners.json → winners.t4.json
std::string results_path(const TuneOptions &options) {
    if (!options.results.empty()) return options.results;
    return std::filesystem::path(options.output).replace_extension(".t4.json").string();
}

// Shapes that a kernel with tiles of the default's size cannot take are served by the portable one.
void check_shapes(const std::vector<ShapeSpec> &shapes, const std::vector<KernelFamily> &families) {
    for (const KernelFamily &family : families) {
        const std::string name = fmt::format("{}_{}_{}_{}", family.op, family.dtype, family.isa, family.default_id);
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
}

nlohmann::ordered_json warm_start(const TuneOptions &options, const TuneListener &listener) {
    if (!options.warm_start.empty()) {
        try {
            return read_winners_of_any_machine(options.warm_start);
        } catch (const std::runtime_error &error) {
            listener.warning(fmt::format("{}; the search starts without it", error.what()));
        }
    }
    return {{"kernels", nlohmann::ordered_json::array()}};
}

// Writes the winners of the kernels that were tuned to the end; false: of none. Throws if no candidate was right.
bool ship(const TuneOutcome &outcome, const TuneOptions &options, const GeneratorProgram &generator,
          const TuneListener &listener) {
    std::vector<TunedKernel> done;
    std::copy_if(outcome.kernels.begin(), outcome.kernels.end(), std::back_inserter(done),
                 [](const TunedKernel &kernel) { return !kernel.interrupted && !kernel.all_failed; });
    if (done.empty() && !outcome.interrupted)
        throw std::runtime_error(
            fmt::format("no candidate was right; {} says what was wrong with each; {} is as it was",
                        outcome.results_path, options.output));
    if (done.empty()) return false;
    std::string warning;
    const std::string results_name = std::filesystem::path(outcome.results_path).filename().string();
    write_winners(options.output, winners_json(done, generator, results_name), generator, &warning);
    if (!warning.empty()) listener.warning(warning + "; its content is replaced");
    return true;
}

}  // namespace

TuneOutcome tune(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested) {
    const double start = wall_seconds();
    TuneOutcome outcome;
    outcome.results_path = results_path(options);
    const std::vector<KernelFamily> families = kernel_families(options.ops, options.dtypes, options.isas);
    check_shapes(options.shapes, families);
    check_only(options, families);
    check_places({options.output, outcome.results_path});
    const GeneratorProgram generator = find_generator();
    const int jobs = options.jobs > 0 ? options.jobs : hardware().cores;
    CandidateBuilder builder(generator, options.build_cache.empty() ? default_build_cache() : options.build_cache, jobs,
                             {options.compile_seconds, kBuildMemory});
    const nlohmann::json identity = {{"machine", hardware().exact}, {"generator_hash", generator.hash}};
    Journal journal(outcome.results_path + ".journal", identity, options.resume);
    if (journal.foreign() > 0)
        listener.warning(
            fmt::format("{}.journal: {} entries of another machine or generator, or not whole, are left out",
                        outcome.results_path, journal.foreign()));
    const nlohmann::ordered_json warm = warm_start(options, listener);
    for (std::size_t i = 0; i < families.size() && !stop_requested(); ++i) {
        const double left = std::max(0.0, options.budget_seconds - (wall_seconds() - start));
        outcome.kernels.push_back(tune_kernel(options, families[i], builder, journal, listener, stop_requested,
                                              tiles_in(warm, families[i]),
                                              left / static_cast<double>(families.size() - i)));
    }
    outcome.interrupted = stop_requested();
    const std::string results = t4_results(journal.entries(), generator).dump(1) + "\n";
    write_files({{outcome.results_path, results, {nullptr, 0}}});
    outcome.written = ship(outcome, options, generator, listener);
    return outcome;
}

}  // namespace flashwright
