#include "tune.h"

#include "clocks.h"
#include "file.h"
#include "forward_problem.h"
#include "hardware.h"
#include "results_file.h"
#include "winners.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr std::uint64_t kBuildMemory = std::uint64_t{8} << 30;

// winners.json → winners.t4.json
std::string results_path(const TuneOptions &options) {
    if (!options.results.empty()) return options.results;
    return std::filesystem::path(options.output).replace_extension(".t4.json").string();
}

// Shapes that a kernel with tiles of the default's size cannot take are served by the portable one.
void check_shapes(const std::vector<ShapeSpec> &shapes, const std::vector<KernelFamily> &families) {
    for (const KernelFamily &family : families) {
        for (const ShapeSpec &shape : shapes) {
            const ForwardProblem problem(shape, family.dtype == "f64" ? FLASHWRIGHT_F64 : FLASHWRIGHT_F32);
            const std::string name = fmt::format("{}_{}_{}_{}", family.op, family.dtype, family.isa, family.default_id);
            flashwright_execution execution = {};
            execution.kernel = name.c_str();
            const flashwright_status status =
                flashwright_forward_choice(&problem.args(), &execution, nullptr, nullptr, 0);
            if (status.code != FLASHWRIGHT_OK)
                throw std::invalid_argument(fmt::format("shape {}: {}", to_string(shape), status.message));
        }
    }
}

}  // namespace

TuneOutcome tune(const TuneOptions &options, const TuneListener &listener, const StopRequested &stop_requested) {
    const double start = wall_seconds();
    TuneOutcome outcome;
    outcome.results_path = results_path(options);
    const std::vector<KernelFamily> families = kernel_families(options.dtypes, options.isas);
    check_shapes(options.shapes, families);
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
    nlohmann::ordered_json warm = {{"kernels", nlohmann::ordered_json::array()}};
    if (!options.warm_start.empty()) {
        try {
            warm = read_winners_of_any_machine(options.warm_start);
        } catch (const std::runtime_error &error) {
            listener.warning(fmt::format("{}; the search starts without it", error.what()));
        }
    }
    for (std::size_t i = 0; i < families.size() && !stop_requested(); ++i) {
        const double left = options.budget_seconds - (wall_seconds() - start);
        KernelTuning tuning(options, families[i], builder, journal, listener, stop_requested,
                            tiles_in(warm, families[i]));
        outcome.kernels.push_back(tuning.run(std::max(left, 0.0) / static_cast<double>(families.size() - i)));
    }
    outcome.interrupted = stop_requested();
    const std::string results = t4_results(journal.entries(), generator).dump(1) + "\n";
    write_files({{outcome.results_path, results, {nullptr, 0}}});

    std::vector<TunedKernel> done;
    std::copy_if(outcome.kernels.begin(), outcome.kernels.end(), std::back_inserter(done),
                 [](const TunedKernel &kernel) { return !kernel.interrupted && !kernel.all_failed; });
    if (done.empty() && !outcome.interrupted)
        throw std::runtime_error(
            fmt::format("no candidate was right; {} says what was wrong with each; {} is as it was",
                        outcome.results_path, options.output));
    if (!done.empty()) {
        std::string warning;
        const std::string results_name = std::filesystem::path(outcome.results_path).filename().string();
        write_winners(options.output, winners_json(done, generator, results_name), generator, &warning);
        if (!warning.empty()) listener.warning(warning + "; its content is replaced");
        outcome.written = true;
    }
    outcome.seconds = wall_seconds() - start;
    return outcome;
}

}  // namespace flashwright
