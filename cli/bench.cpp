#include "commands.h"
#include "kernels/dtype_dispatch.h"
#include "measure/kernel_meter.h"
#include "measure/shape_spec.h"
#include "measure/statistics.h"
#include "progress.h"
#include "support/clocks.h"
#include "support/interrupt.h"
#include "validators.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

namespace flashwright {
namespace {

// A shape is repeated for kSeconds, but slow shapes at least kMinRepetitions times and fast shapes at most
// kMaxRepetitions times.
constexpr double kSeconds = 3;
constexpr std::size_t kMinRepetitions = 15;
constexpr std::size_t kMaxRepetitions = 1000;

struct BenchOptions {
    std::vector<std::string> ops = {"forward"}, dtypes = {"f32"}, shapes;
    std::int32_t threads = 0;
    std::string isa, kernel;
    bool json = false;
};

struct BenchCall {
    std::string op, dtype;
    ShapeSpec shape;
};

struct BenchRow {
    BenchCall call;
    MeterResult result;
};

std::vector<ShapeSpec> shapes_of(const BenchOptions &options) {
    if (options.shapes.empty()) {
        return default_shapes();
    }
    std::vector<ShapeSpec> shapes;
    std::transform(options.shapes.begin(), options.shapes.end(), std::back_inserter(shapes), parse_shape_spec);
    return shapes;
}

std::vector<BenchCall> calls_of(const BenchOptions &options) {
    std::vector<BenchCall> calls;
    for (const std::string &op : options.ops) {
        for (const std::string &dtype : options.dtypes) {
            for (const ShapeSpec &shape : shapes_of(options)) {
                calls.push_back({op, dtype, shape});
            }
        }
    }
    return calls;
}

// On an interrupt it returns after the current repetition.
MeterResult measure(const BenchCall &call, const flashwright_execution &execution, Progress &progress) {
    KernelMeter meter(call.op, call.shape, dtype_id(call.dtype), execution);
    const double start = wall_seconds();
    double elapsed = 0;
    std::size_t done = 0;
    do {
        const double seconds = meter.repeat();
        ++done;
        elapsed = wall_seconds() - start;
        progress.detail(fmt::format("{}: {:.3g} ms, {:.0f} %", meter.kernel(), 1e3 * seconds,
                                    std::min(100.0, 100 * elapsed / kSeconds)));
    } while ((elapsed < kSeconds || done < kMinRepetitions) && done < kMaxRepetitions && !interrupt_requested());
    return meter.result();
}

nlohmann::ordered_json to_json(const BenchRow &row) {
    const MeterResult &result = row.result;
    nlohmann::ordered_json json = {
        {"shape", to_string(row.call.shape)},
        {"op", row.call.op},
        {"dtype", row.call.dtype},
        {"isa", result.isa},
        {"kernel", result.kernel},
        {"threads", result.threads},
        {"seconds",
         {{"median", median(result.seconds)},
          {"q25", quarter(result.seconds)},
          {"min", quantile(result.seconds, 0)},
          {"runs", result.seconds.size()}}},
        {"gflops", result.gflops},
        {"peak_gflops", result.peak_gflops},
        {"fraction_of_peak", result.gflops / result.peak_gflops},
    };
    if (result.best_isa != result.isa) {
        json["best_isa"] = result.best_isa;
        json["best_peak_gflops"] = result.best_peak_gflops;
        json["fraction_of_best_peak"] = result.gflops / result.best_peak_gflops;
    }
    if (result.gbytes_per_second > 0) {
        json["gbytes_per_s"] = result.gbytes_per_second;
        json["peak_gbytes_per_s"] = result.peak_gbytes_per_second;
    }
    return json;
}

std::string percent(double value, double peak, const std::string &which) {
    return fmt::format("{:.1f} % of {:.1f} ({})", 100 * value / peak, peak, which);
}

void print_head(int threads) {
    fmt::print(
        "Times are {}. GFLOP/s and percent use the 25th percentile. Spread is the interquartile range divided by the "
        "median. Peaks are measured between repetitions.\n",
        threads == 1 ? "CPU time of the thread" : "wall time");
    fmt::print("{:<28} {:<5} {:>7} {:>10} {:>10} {:>10} {:>7} {:>8}  {:<28} {}\n", "shape", "dtype", "threads",
               "median ms", "q25 ms", "min ms", "spread", "GFLOP/s", "of peak", "kernel");
}

void print_row(const BenchRow &row) {
    const MeterResult &result = row.result;
    const std::vector<double> &seconds = result.seconds;
    std::string peak = percent(result.gflops, result.peak_gflops, result.isa);
    if (result.best_isa != result.isa) {
        peak += ", " + percent(result.gflops, result.best_peak_gflops, result.best_isa);
    }
    if (result.gbytes_per_second > 0) {
        peak += ", " + percent(result.gbytes_per_second, result.peak_gbytes_per_second, "GB/s");
    }
    fmt::print("{:<28} {:<5} {:>7} {:>10.4g} {:>10.4g} {:>10.4g} {:>5.1f} % {:>8.1f}  {:<28} {}\n",
               to_string(row.call.shape), row.call.dtype, result.threads, 1e3 * median(seconds), 1e3 * quarter(seconds),
               1e3 * quantile(seconds, 0), 100 * (three_quarters(seconds) - quarter(seconds)) / median(seconds),
               result.gflops, peak, result.kernel);
    std::fflush(stdout);
}

// Measures, and prints each row when it is finished unless the output is JSON. On an interrupt it returns the finished
// rows.
std::vector<BenchRow> bench_rows(const BenchOptions &options, const flashwright_execution &execution) {
    std::vector<BenchRow> rows;
    Progress progress;
    for (const BenchCall &call : calls_of(options)) {
        progress.step(fmt::format("{} {} {}", call.op, call.dtype, to_string(call.shape)));
        const MeterResult result = measure(call, execution, progress);
        if (interrupt_requested()) {
            return rows;
        }
        progress.clear();
        rows.push_back({call, result});
        if (!options.json) {
            if (rows.size() == 1) {
                print_head(result.threads);
            }
            print_row(rows.back());
        }
    }
    return rows;
}

void bench(const BenchOptions &options) {
    const DeferInterrupt defer;
    flashwright_execution execution = {};
    execution.threads = options.threads;
    execution.isa = options.isa.empty() ? nullptr : options.isa.c_str();
    execution.kernel = options.kernel.empty() ? nullptr : options.kernel.c_str();
    const std::vector<BenchRow> rows = bench_rows(options, execution);
    if (options.json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        std::transform(rows.begin(), rows.end(), std::back_inserter(list), to_json);
        fmt::print("{}\n", list.dump(2));
        std::fflush(stdout);
    }
}

}  // namespace

void add_bench(CLI::App &app) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App *command =
        app.add_subcommand("bench", "Time kernels and compare them with the measured peak of this machine");
    command->add_option("--op", options->ops, "Operations to time (default forward)")
        ->check(CLI::IsMember({"forward", "backward"}).description(""))
        ->type_name("forward|backward");
    take_cpu_dtypes(command->add_option("--dtype", options->dtypes, "Element types to time (default f32)"));
    command
        ->add_option("--shape", options->shapes,
                     "Shapes to time, each B,HQ,HKV,TQ,TK,D[,DV][,causal] (default: a set of six)")
        ->type_name("SPEC");
    command
        ->add_option(
            "--threads", options->threads,
            "Number of threads (default: FLASHWRIGHT_THREADS, or all processors). With 1 thread its CPU time is "
            "measured, otherwise wall time")
        ->check(CLI::Range(1, std::numeric_limits<std::int32_t>::max()).description(""))
        ->type_name("N");
    command->add_option("--isa", options->isa, "Use this instruction set. flashwright info lists them")
        ->check(not_empty())
        ->type_name("NAME");
    command->add_option("--kernel", options->kernel, "Use this kernel. flashwright info lists them")
        ->check(not_empty())
        ->type_name("NAME");
    command->add_flag("--json", options->json, "Print the results as a JSON list");
    command->footer(
        "Example:\n  flashwright bench --threads 1 --shape 1,8,8,1024,1024,64 --shape 1,8,8,1024,1024,64,causal");
    command->callback([options] { bench(*options); });
}

}  // namespace flashwright
