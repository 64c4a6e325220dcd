#include "commands.h"
#include "kernels/dtype_dispatch.h"
#include "measure/machine_info.h"
#include "measure/machine_peak.h"
#include "measure/measured_call.h"
#include "validators.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <set>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

constexpr int kSamples = 100;          // of a peak; each takes a millisecond
constexpr int kBandwidthSamples = 10;  // each takes some ten milliseconds

struct InfoOptions {
    bool json = false, measure = false;
    std::string explain;
};

ordered_json parse_or_text(const char *text) {
    ordered_json json = ordered_json::parse(text, nullptr, false);
    return json.is_discarded() ? ordered_json(text) : json;
}

ordered_json measured_peaks(const std::string &isa, const Dtype &dtype, int threads) {
    FmaPeak peak(isa, dtype_id(dtype.name), threads);
    for (int i = 0; i < kSamples; ++i) {
        peak.sample();
    }
    return {{"isa", isa}, {"dtype", dtype.name}, {"threads", threads}, {"gflops", peak.gflops()}};
}

ordered_json measured_bandwidth(int threads) {
    ReadBandwidth bandwidth(threads);
    for (int i = 0; i < kBandwidthSamples; ++i) {
        bandwidth.sample();
    }
    return {{"threads", threads}, {"gbytes_per_s", bandwidth.gbytes_per_second()}};
}

ordered_json describe_cpu(bool measure) {
    const MachineInfo machine = machine_info();
    ordered_json cpu = {
        {"name", machine.cpu_name}, {"processors", machine.processors}, {"caches", ordered_json::array()}};
    for (const CacheInfo &cache : machine.caches) {
        cpu["caches"].push_back({{"level", cache.level}, {"type", cache.type}, {"bytes", cache.bytes}});
    }
    if (!measure) {
        return cpu;
    }
    for (const int threads : std::set<int>{1, machine.processors}) {
        for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
            const flashwright_isa_info isa = flashwright_isa(i);
            for (const Dtype &dtype : kDtypes) {
                if (dtype.on_cpu && isa.usable != 0) {
                    cpu["peaks"].push_back(measured_peaks(isa.name, dtype, threads));
                }
            }
        }
        cpu["read_bandwidth"].push_back(measured_bandwidth(threads));
    }
    return cpu;
}

ordered_json describe_isas() {
    ordered_json isas = ordered_json::array();
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        const flashwright_isa_info isa = flashwright_isa(i);
        isas.push_back({{"name", isa.name},
                        {"description", isa.description},
                        {"features", isa.features},
                        {"usable", isa.usable != 0},
                        {"chosen", isa.chosen != 0}});
    }
    return isas;
}

ordered_json describe_kernels() {
    ordered_json kernels = ordered_json::array();
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        kernels.push_back({{"name", kernel.name},
                           {"op", kernel.op},
                           {"dtype", element_type(kernel.dtype).name},
                           {"isa", kernel.isa},
                           {"terms", kernel.terms},
                           {"generic", kernel.generic != 0},
                           {"tiles", parse_or_text(kernel.tiles)}});
    }
    return kernels;
}

// The kernel that is used for a shape in each op and dtype, and why.
ordered_json explain(const std::string &spec) {
    const ShapeSpec shape = parse_shape_spec(spec);
    ordered_json choices = ordered_json::array();
    for (const char *op : {"forward", "backward"}) {
        for (const Dtype &dtype : kDtypes) {
            if (!dtype.on_cpu) continue;
            const ChosenKernel choice = make_measured_call(op, shape, dtype_id(dtype.name))->choose({});
            choices.push_back({{"shape", to_string(shape)},
                               {"op", op},
                               {"dtype", dtype.name},
                               {"kernel", flashwright_kernel(choice.index).name},
                               {"reason", choice.reason}});
        }
    }
    return choices;
}

std::string text_of(const ordered_json &value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print_cpu(const ordered_json &cpu) {
    fmt::print("CPU: {}, {} processors available\n", text_of(cpu["name"]), cpu["processors"].get<int>());
    for (const ordered_json &cache : cpu["caches"]) {
        fmt::print("  L{} {:<12} {:>6} KiB\n", cache["level"].get<int>(), text_of(cache["type"]),
                   cache["bytes"].get<std::int64_t>() / 1024);
    }
    for (const ordered_json &peak : cpu.value("peaks", ordered_json::array())) {
        fmt::print("  peak {:<9} {}, threads {:<3} {:>8.1f} GFLOP/s\n", text_of(peak["isa"]), text_of(peak["dtype"]),
                   peak["threads"].get<int>(), peak["gflops"].get<double>());
    }
    for (const ordered_json &bandwidth : cpu.value("read_bandwidth", ordered_json::array())) {
        fmt::print("  memory read,        threads {:<3} {:>8.1f} GB/s\n", bandwidth["threads"].get<int>(),
                   bandwidth["gbytes_per_s"].get<double>());
    }
}

void print_choices(const ordered_json &choices) {
    for (const ordered_json &choice : choices) {
        fmt::print("{} {} {}: {}\n", text_of(choice["shape"]), text_of(choice["op"]), text_of(choice["dtype"]),
                   text_of(choice["reason"]));
    }
}

void print_info(const ordered_json &info) {
    fmt::print("flashwright {}\n", text_of(info["version"]));
    print_cpu(info["cpu"]);
    fmt::print("ISAs:\n");
    for (const ordered_json &isa : info["isas"]) {
        const bool usable = isa["usable"].get<bool>();
        fmt::print("  {:<9} {:<10} {} ({})\n", text_of(isa["name"]),
                   isa["chosen"].get<bool>() ? "chosen"
                   : usable                  ? "usable"
                                             : "not usable",
                   text_of(isa["description"]), text_of(isa["features"]));
    }
    fmt::print("Kernels:\n");
    for (const ordered_json &kernel : info["kernels"]) {
        fmt::print("  {:<58} {}\n", text_of(kernel["name"]), text_of(kernel["tiles"]));
    }
    fmt::print("Configuration: built from {}\n", text_of(info["config"]["files"]));
}

void info(const InfoOptions &options) {
    if (!options.explain.empty()) {
        const ordered_json choices = explain(options.explain);
        if (options.json) {
            fmt::print("{}\n", choices.dump(2));
        } else {
            print_choices(choices);
        }
        return;
    }
    const ordered_json all = {{"version", flashwright_version()},
                              {"cpu", describe_cpu(options.measure)},
                              {"isas", describe_isas()},
                              {"kernels", describe_kernels()},
                              {"config", parse_or_text(flashwright_config_json())}};
    if (options.json) {
        fmt::print("{}\n", all.dump(2));
    } else {
        print_info(all);
    }
}

}  // namespace

void add_info(CLI::App &app) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App *command =
        app.add_subcommand("info", "Show this CPU, its instruction sets, the kernels and the configuration");
    command->add_flag("--json", options->json, "Print JSON");
    command->add_flag("--measure", options->measure,
                      "Also measure the CPU's peak GFLOP/s and its memory bandwidth. Takes some seconds");
    command
        ->add_option("--explain", options->explain,
                     "Show only which kernels are used for the shape B,HQ,HKV,TQ,TK,D[,DV][,causal], and why")
        ->check(not_empty())
        ->type_name("SPEC");
    command->footer("Example:\n  flashwright info --explain 1,8,8,1024,1024,64,causal");
    command->callback([options] { info(*options); });
}

}  // namespace flashwright
