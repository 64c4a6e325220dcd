#include "tuner/tune.h"
#include "commands.h"
#include "kernels/tile_spaces.h"
#include "message.h"
#include "progress.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tune_gpu.h"
#include "tuner/records/winners.h"
#include "tuner/search/strategy.h"
#include "tuner/verify_winners.h"
#include "validators.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace flashwright {
namespace {

struct TuneArguments {
    TuneOptions options;
    std::vector<std::string> shapes, only;
    std::string budget = "10m", shapes_file, verify, backend = "cpu";
    bool json = false;
};

// 90, 90s, 10m, 1.5h
double parse_budget(const std::string &text) {
    std::size_t end = 0;
    double value = 0;
    try {
        value = std::stod(text, &end);
    } catch (const std::exception &) {
    }
    const std::string unit = text.substr(end);
    const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (end == 0 || factor == 0 || !(value > 0) || !std::isfinite(value))
        throw std::invalid_argument(fmt::format("budget: expected a time such as 90s, 10m or 1h, got \"{}\"", text));
    return value * factor;
}

// tile_d=8,16
void parse_only(const std::string &text, std::map<std::string, std::vector<int>> *only) {
    const auto fail = [&] {
        return std::invalid_argument(fmt::format("only: expected PARAMETER=VALUE[,VALUE…], got \"{}\"", text));
    };
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw fail();
    std::istringstream values(text.substr(equals + 1));
    for (std::string value; std::getline(values, value, ',');) {
        std::size_t end = 0;
        int number = 0;
        try {
            number = std::stoi(value, &end);
        } catch (const std::exception &) {
        }
        if (end == 0 || end != value.size()) throw fail();
        (*only)[text.substr(0, equals)].push_back(number);
    }
    if (only->count(text.substr(0, equals)) == 0) throw fail();
}

void print_kernel(const TunedKernel &kernel) {
    fmt::print("{}: {} of {} candidates tried", kernel.family.name(), kernel.tried, kernel.space_size);
    for (const auto &[verdict, count] : kernel.failures) fmt::print(", {} {}", count, verdict);
    fmt::print("\n");
    for (std::size_t i = 0; i < kernel.rows.size(); ++i) {
        const TunedRow &row = kernel.rows[i];
        fmt::print(
            "  {:<28} {:<4} {:>6.1f} % of the baseline's time ({:.1f} to {:.1f}, {} pairs, noise floor {:.1f} %)",
            to_string(row.shape), row.win ? "win" : "tie", 100 * row.ratio, 100 * row.interval.low,
            100 * row.interval.high, row.pairs, 100 * row.noise_floor);
        if (row.win) {
            for (const TileParameter &parameter : kernel.family.space().parameters)
                fmt::print(" {}={}", parameter.name, kernel.tiles[i].*parameter.member);
        } else {
            fmt::print(" the baseline stays");
        }
        fmt::print("\n");
    }
}

// A JSON array of SPECs.
std::vector<std::string> read_shapes(const std::string &path) {
    std::ifstream file(path);
    const auto shapes = nlohmann::json::parse(file, nullptr, false);
    const bool good = shapes.is_array() && !shapes.empty() &&
                      std::all_of(shapes.begin(), shapes.end(), [](const auto &shape) { return shape.is_string(); });
    if (!good)
        throw std::runtime_error(fmt::format("{}: expected a JSON array of shapes, as [\"1,8,8,1024,1024,64\"]", path));
    return shapes;
}

void run_verify(const TuneArguments &arguments, const TuneListener &listener) {
    const std::vector<VerifiedRow> rows =
        verify_winners(arguments.verify, arguments.options, listener, interrupt_requested);
    std::size_t lost = 0;
    for (const VerifiedRow &row : rows) {
        lost += row.holds() ? 0 : 1;
        if (!row.failure.empty()) {
            fmt::print("{} {:<28} {:<24} {}\n", row.family.name(), row.shape, row.variant, row.failure);
            continue;
        }
        fmt::print(
            "{} {:<28} {:<24} {:>6.1f} % of the baseline's time ({:.1f} to {:.1f}), {:.1f} % when it was tuned: "
            "{}\n",
            row.family.name(), row.shape, row.variant, 100 * row.ratio, 100 * row.interval.low, 100 * row.interval.high,
            100 * row.promised, row.holds() ? "holds" : "no longer faster");
    }
    if (interrupt_requested()) {
        fmt::print("Interrupted. The other winners of {} were not measured.\n", arguments.verify);
    } else if (rows.empty()) {
        fmt::print("Every shape of {} has the baseline, so there is nothing to verify.\n", arguments.verify);
    }
    std::fflush(stdout);  // before an interrupt ends the program
    if (lost > 0)
        throw std::runtime_error(
            fmt::format("{} of {} winners are no longer faster than the baseline; tune again", lost, rows.size()));
}

void run_tune(TuneArguments &arguments) {
    TuneOptions &options = arguments.options;
    options.budget_seconds = parse_budget(arguments.budget);
    if (!arguments.shapes_file.empty()) {
        for (const std::string &shape : read_shapes(arguments.shapes_file)) arguments.shapes.push_back(shape);
    }
    for (const std::string &shape : arguments.shapes) options.shapes.push_back(parse_shape_spec(shape));
    if (options.shapes.empty() && arguments.backend == "cpu") options.shapes = default_shapes();
    for (const std::string &text : arguments.only) parse_only(text, &options.only);
    const DeferInterrupt defer;
    Progress progress;
    const TuneListener listener = {[&](const std::string &text) { progress.step(text); },
                                   [&](const std::string &text) { progress.detail(text); },
                                   [&](const std::string &text) {
                                       progress.clear();
                                       print_message(fmt::format("warning: {}\n", text));
                                   }};
    if (arguments.backend != "cpu") {
        run_gpu_tuning(options, listener, arguments.json);
        return;
    }
    if (!arguments.verify.empty()) {
        run_verify(arguments, listener);
        return;
    }
    const TuneOutcome outcome = tune(options, listener, interrupt_requested);
    progress.clear();
    if (arguments.json) {
        fmt::print("{}\n", dumped(nlohmann::ordered_json(outcome.kernels), 2));
    } else {
        for (const TunedKernel &kernel : outcome.kernels) print_kernel(kernel);
    }
    if (outcome.written && !arguments.json) {
        fmt::print(
            "Rows in {}, all results in {}. To build with them, in the source folder:\n"
            "  build/venv/bin/cmake --preset release -DFLASHWRIGHT_CONFIG={}\n"
            "  build/venv/bin/cmake --build --preset release\n",
            options.output, outcome.results_path, std::filesystem::absolute(options.output).string());
    }
    std::fflush(stdout);  // before an interrupt ends the program
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
}

}  // namespace

void add_tune(CLI::App &app) {
    auto arguments = std::make_shared<TuneArguments>();
    TuneOptions &options = arguments->options;
    CLI::App *command = app.add_subcommand("tune", "Tune the kernels' tile sizes for this machine");
    auto *output = command->add_option_group("file");
    output->add_option("--output", options.output, "Winners file; rows of other shapes are kept")->type_name("F");
    output->add_option("--verify", arguments->verify, "Only measure the winners of this file against the baselines")
        ->type_name("F");
    output->require_option(1);
    command
        ->add_option("--results", options.results,
                     "Results file, with all measurements (default: OUTPUT with .t4.json)")
        ->type_name("F");
    command->add_flag("--resume", options.resume, "Resume from the previous run's journal");
    options.ops = {"forward"};
    command->add_option("--op", options.ops, "Operations (default forward)")
        ->check(CLI::IsMember(tunable_ops()).description(""))
        ->type_name("forward|backward");
    take_cpu_dtypes(command->add_option("--dtype", options.dtypes, "Element types (default: all)"));
    command
        ->add_option(
            "--backend", arguments->backend,
            "Backend to tune (default cpu). For cuda, candidates are ranked by static analysis; with a GPU the best "
            "are timed. --output is then a GPU configuration")
        ->check(CLI::IsMember({"cpu", "opencl", "cuda"}).description(""))
        ->type_name("cpu|opencl|cuda");
    command
        ->add_option("--shape", arguments->shapes,
                     "Shape, as B,HQ,HKV,TQ,TK,D[,DV][,causal] (default: six shapes; for cuda three for each kernel)")
        ->type_name("SPEC");
    command->add_option("--shapes", arguments->shapes_file, "JSON file with an array of SPECs")->type_name("F");
    command
        ->add_option("--warm-start", options.warm_start,
                     "Winners file, also of another machine, whose tiles are tried first")
        ->type_name("F");
    command->add_flag("--json", arguments->json, "Print JSON");
    command->add_option("--isa", options.isas, "Instruction sets (default: the best of this CPU)")->type_name("NAME");
    command
        ->add_option("--budget", arguments->budget,
                     "Total time, approximately (default 10m); for cuda it limits only the search")
        ->type_name("TIME");
    command->add_option("--candidates", options.candidates, "Maximum number of candidates per kernel")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N");
    command->add_option("--patience", options.patience, "Stop after N candidates without an improvement (default 160)")
        ->check(CLI::NonNegativeNumber.description(""))
        ->type_name("N");
    command
        ->add_option("--max-variants", options.max_variants,
                     "Maximum number of variants per kernel, besides the baseline (default 4)")
        ->check(CLI::Range(1, 64).description(""))
        ->type_name("K");
    command
        ->add_option("--strategy", options.strategy,
                     "Search strategy: auto, exhaustive, random or local (default auto)")
        ->check(CLI::IsMember(strategy_names()).description(""))
        ->type_name("S");
    command->add_option("--only", arguments->only, "Restrict a tile parameter to these values, for example tile_d=8,16")
        ->type_name("P=V,…");
    command->add_option("--seed", options.seed, "Random seed (default 1)")->type_name("N");
    command->add_option("--jobs", options.jobs, "Parallel compilations (default: one per processor)")
        ->check(CLI::Range(1, 1024).description(""))
        ->type_name("N");
    command
        ->add_option("--compile-limit", options.compile_seconds,
                     "Time limit of one compilation, in seconds (default 60)")
        ->check(positive_and_finite())
        ->type_name("S");
    command
        ->add_option("--run-limit", options.run_seconds,
                     "Seconds of silence after which a candidate counts as hung (default: from the baseline's times)")
        ->check(positive_and_finite())
        ->type_name("S");
    command->add_flag("--keep-duplicates", options.keep_duplicates,
                      "Also time candidates whose object code equals another's");
    command->footer(
        "Example:\n  flashwright tune --output winners.json --dtype f32 --shape 1,8,8,1024,1024,64 --budget 2m");
    command->callback([arguments, command] {
        if (arguments->backend != "cpu") check_gpu_tuning(*command, arguments->backend, &arguments->options);
        run_tune(*arguments);
    });
}

}  // namespace flashwright
