#include "tuner/search/replay.h"

#include "commands.h"
#include "measure/statistics.h"
#include "support/text.h"
#include "tuner/search/strategy.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace flashwright {
namespace {

struct ReplayOptions {
    std::string results;
    std::vector<std::string> strategies = {"auto", "random", "local"};
    std::uint32_t seeds = 20;
    ReplayLimits limits = {60, 1000000};
    bool json = false;
};

std::string limits_text(const ReplayLimits &limits) {
    std::string text = fmt::format("{} candidates", limits.candidates);
    if (limits.compilations < limits.candidates) text += fmt::format(" or {} compilations", limits.compilations);
    return text;
}

// The final regret of each seed.
std::vector<double> regrets(const RecordedSpace &space, const std::string &strategy, const ReplayOptions &options,
                            const nlohmann::ordered_json &machine) {
    std::vector<double> last;
    for (std::uint32_t seed = 1; seed <= options.seeds; ++seed)
        last.push_back(regret_curve(space, strategy, seed, options.limits, machine).back());
    return last;
}

void replay(const ReplayOptions &options) {
    const RecordedRun run = read_recorded_run(options.results);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const RecordedSpace &space : run.spaces) {
        const KernelId &kernel = space.kernel;
        if (!options.json)
            fmt::print("{} {} {} {}: {} recorded candidates. Regret after {}, over {} seeds:\n", kernel.op,
                       kernel.dtype, kernel.isa, space.shape, space.candidates.size(), limits_text(options.limits),
                       options.seeds);
        if (!options.json && space.candidates.size() <= options.limits.candidates)
            fmt::print(
                "  Every strategy sees all of them, because --candidates is no smaller than their number. Set it lower "
                "to "
                "compare strategies.\n");
        for (const std::string &strategy : options.strategies) {
            const std::vector<double> values = regrets(space, strategy, options, run.results.machine);
            rows.push_back({{"op", kernel.op},
                            {"dtype", kernel.dtype},
                            {"isa", kernel.isa},
                            {"shape", space.shape},
                            {"recorded", space.candidates.size()},
                            {"strategy", strategy},
                            {"candidates", options.limits.candidates},
                            {"compilations", options.limits.compilations},
                            {"seeds", options.seeds},
                            {"median", median(values)},
                            {"q25", quarter(values)},
                            {"q75", three_quarters(values)},
                            {"worst", quantile(values, 1)}});
            if (!options.json)
                fmt::print("  {:<12} median {:>5.2f} %, quartiles {:.2f} to {:.2f} %, worst {:.2f} %\n", strategy,
                           100 * median(values), 100 * quarter(values), 100 * three_quarters(values),
                           100 * quantile(values, 1));
        }
    }
    if (options.json) fmt::print("{}\n", dumped(rows, 2));
}

}  // namespace

void add_replay(CLI::App &app) {
    auto options = std::make_shared<ReplayOptions>();
    CLI::App *command = app.add_subcommand("replay", "Compare search strategies on recorded results");
    command->add_option("results", options->results, "Results file of flashwright tune")->required()->type_name("F");
    command
        ->add_option("--strategy", options->strategies,
                     "Strategies: auto, random, local, exhaustive (default: the first three)")
        ->check(CLI::IsMember(strategy_names()).description(""))
        ->type_name("S");
    command->add_option("--seeds", options->seeds, "Runs of each strategy (default 20)")
        ->check(CLI::Range(1, 100000).description(""))
        ->type_name("N");
    command
        ->add_option("--candidates", options->limits.candidates, "Maximum number of candidates in a run (default 60)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    command
        ->add_option("--compilations", options->limits.compilations,
                     "Maximum number of compilations in a run (default: no limit)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    command->add_flag("--json", options->json, "Print JSON");
    command->footer("Example:\n  flashwright replay winners.t4.json --strategy auto --strategy random --seeds 20");
    command->callback([options] { replay(*options); });
}

}  // namespace flashwright
