// Times every forward and backward kernel that this machine can run, on every default shape with one thread, and
// compares with the peak that is measured between the iterations. --benchmark_filter=<regex> selects some of them.
#include "flashwright/flashwright.h"
#include "measure/kernel_meter.h"
#include "measure/shape_spec.h"

#include <benchmark/benchmark.h>

#include <string>

namespace flashwright {
namespace {

void bench_kernel(benchmark::State &state, const flashwright_kernel_info &kernel, const ShapeSpec &shape) {
    flashwright_execution execution = {};
    execution.threads = 1;
    execution.kernel = kernel.name;
    try {
        KernelMeter meter(kernel.op, shape, kernel.dtype, execution);
        for (auto unused : state) {
            (void)unused;
            state.SetIterationTime(meter.repeat());
        }
        const MeterResult result = meter.result();
        state.counters["GFLOP/s"] = result.gflops;
        state.counters["fraction_of_peak"] = result.gflops / result.peak_gflops;
    } catch (const std::exception &error) {
        state.SkipWithError(error.what());
    }
}

bool is_usable(const std::string &isa) {
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        const flashwright_isa_info info = flashwright_isa(i);
        if (isa == info.name) {
            return info.usable != 0;
        }
    }
    return false;
}

void register_benchmarks() {
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        const std::string op = kernel.op;
        if ((op != "forward" && op != "backward") || !is_usable(kernel.isa)) {
            continue;
        }
        for (const ShapeSpec &shape : default_shapes()) {
            const std::string name = std::string(kernel.name) + "/" + to_string(shape);
            benchmark::RegisterBenchmark(name.c_str(), bench_kernel, kernel, shape)
                ->UseManualTime()
                ->Unit(benchmark::kMillisecond);
        }
    }
}

}  // namespace
}  // namespace flashwright

int main(int argc, char **argv) {
    flashwright::register_benchmarks();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
