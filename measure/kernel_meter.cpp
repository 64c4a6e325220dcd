#include "kernel_meter.h"

#include "kernels/dtype_dispatch.h"
#include "machine_info.h"
#include "statistics.h"
#include "support/clocks.h"

#include <algorithm>
#include <cmath>

namespace flashwright {
namespace {

// Operations a byte above which no CPU is bound by its memory; below, the measured peaks decide.
constexpr double kComputeBound = 64;

std::string widest_usable_isa() {
    for (std::int32_t i = flashwright_isa_count() - 1; i >= 0; --i) {
        if (flashwright_isa(i).usable != 0) {
            return flashwright_isa(i).name;
        }
    }
    return "baseline";
}

}  // namespace

KernelMeter::KernelMeter(const std::string &op, const ShapeSpec &shape, flashwright_dtype dtype,
                         const flashwright_execution &execution)
    : measured_(make_measured_call(op, shape, dtype)),
      execution_(execution),
      best_isa_(widest_usable_isa()),
      threads_(execution.threads > 0 ? execution.threads : flashwright_default_threads()),
      bytes_(measured_->elements() * element_type(dtype).bytes) {
    const flashwright_kernel_info kernel = flashwright_kernel(measured_->choose(execution_).index);
    kernel_ = kernel.name;
    isa_ = kernel.isa;
    peak_.emplace(isa_, dtype, threads_);
    if (best_isa_ != isa_) {
        best_peak_.emplace(best_isa_, dtype, threads_);
    }
    if (bytes_ > static_cast<double>(last_cache_bytes()) && measured_->flops() < kComputeBound * bytes_) {
        bandwidth_.emplace(threads_);
    }
    measured_->fill();
    call();  // warms caches and the library's threads up
    const double seconds = time_of(threads_, [this] { call(); });
    calls_ = static_cast<int>(std::clamp(std::ceil(1e-3 / std::max(seconds, 1e-9)), 1.0, 1e5));
}

void KernelMeter::call() { measured_->run(execution_); }

double KernelMeter::repeat() {
    const double seconds = time_of(threads_, [this] {
        for (int i = 0; i < calls_; ++i) {
            call();
        }
    });
    seconds_.push_back(seconds / calls_);
    peak_->sample();
    if (best_peak_) {
        best_peak_->sample();
    }
    if (bandwidth_) {
        bandwidth_->sample();
    }
    return seconds_.back();
}

MeterResult KernelMeter::result() const {
    const double seconds = quarter(seconds_);
    const double flops = measured_->flops();
    MeterResult result = {};
    result.kernel = kernel_;
    result.isa = isa_;
    result.threads = threads_;
    result.seconds = seconds_;
    result.gflops = 1e-9 * flops / seconds;
    result.peak_gflops = peak_->gflops();
    result.best_isa = best_isa_;
    result.best_peak_gflops = best_peak_ ? best_peak_->gflops() : result.peak_gflops;
    const double peak_gbytes = bandwidth_ ? bandwidth_->gbytes_per_second() : 0;
    if (bandwidth_ && bytes_ / peak_gbytes > flops / result.peak_gflops) {
        result.gbytes_per_second = 1e-9 * bytes_ / seconds;
        result.peak_gbytes_per_second = peak_gbytes;
    }
    return result;
}

}  // namespace flashwright
