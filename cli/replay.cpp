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

// The regrets of all seeds at the limits, or where the space ended before.
std::vector<double> regrets(const RecordedSpace &space, const std::string &strategy, const ReplayOptions &options,
                            const nlohmann::json &metadata) {
    std::vector<double> last;
    for (std::uint32_t seed = 1; seed <= options.seeds; ++seed)
        last.push_back(regret_curve(space, strategy, seed, options.limits, metadata).back());
    return last;
}

void replay(const ReplayOptions &options) {
    const RecordedRun run = read_results(options.results);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const RecordedSpace &space : run.spaces) {
        if (!options.json)
            fmt::print("{} {} {} {}: {} recorded; how much slower than its best after {}, {} seeds\n", space.op,
                       space.dtype, space.isa, space.shape, space.trials.size(), limits_text(options.limits),
                       options.seeds);
        if (!options.json && space.trials.size() <= options.limits.candidates)
            fmt::print(
                "  as many candidates are allowed as were recorded, so each strategy sees all of them; fewer "
                "--candidates tell them apart\n");
        for (const std::string &strategy : options.strategies) {
            const std::vector<double> values = regrets(space, strategy, options, run.metadata);
            rows.push_back({{"op", space.op},
                            {"dtype", space.dtype},
                            {"isa", space.isa},
                            {"shape", space.shape},
                            {"recorded", space.trials.size()},
                            {"strategy", strategy},
                            {"candidates", options.limits.candidates},
                            {"compilations", options.limits.compilations},
                            {"seeds", options.seeds},
                            {"median", median(values)},
                            {"q25", quarter(values)},
                            {"q75", three_quarters(values)},
                            {"worst", quantile(values, 1)}});
            if (!options.json)
                fmt::print("  {:<12} median {:>5.2f} %, middle half {:.2f} to {:.2f} %, worst {:.2f} %\n", strategy,
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
    command->add_option("results", options->results, "Results of flashwright tune")->required()->type_name("F");
    command->add_option("--strategy", options->strategies, "auto, random, local, exhaustive (the first three)")
        ->check(CLI::IsMember(strategy_names()).description(""))
        ->type_name("S");
    command->add_option("--seeds", options->seeds, "Runs of each (20)")
        ->check(CLI::Range(1, 100000).description(""))
        ->type_name("N");
    command->add_option("--candidates", options->limits.candidates, "Candidates of a run, at most (60)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    command->add_option("--compilations", options->limits.compilations, "Objects compiled in a run, at most (any)")
        ->check(CLI::Range(1, 1000000).description(""))
        ->type_name("N");
    command->add_flag("--json", options->json, "Print JSON");
    command->footer("Example:\n  flashwright replay winners.t4.json --strategy auto --strategy random --seeds 20");
    command->callback([options] { replay(*options); });
}

}  // namespace flashwright
