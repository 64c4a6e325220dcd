#include "forward_meter.h"

#include "check_status.h"
#include "clocks.h"
#include "machine_info.h"
#include "statistics.h"

#include <algorithm>
#include <cmath>

namespace flashwright {
namespace {

std::string widest_usable_isa() {
    for (std::int32_t i = flashwright_isa_count() - 1; i >= 0; --i) {
        if (flashwright_isa(i).usable != 0) {
            return flashwright_isa(i).name;
        }
    }
    return "baseline";
}

}  // namespace

ForwardMeter::ForwardMeter(const ShapeSpec &shape, flashwright_dtype dtype, const flashwright_execution &execution)
    : problem_(shape, dtype),
      execution_(execution),
      best_isa_(widest_usable_isa()),
      threads_(execution.threads > 0 ? execution.threads : default_threads()) {
    std::int32_t index = -1;
    check(flashwright_forward_choice(&problem_.args(), &execution_, &index, nullptr, 0));
    const flashwright_kernel_info kernel = flashwright_kernel(index);
    kernel_ = kernel.name;
    isa_ = kernel.isa;
    peak_.emplace(isa_, dtype, threads_);
    if (best_isa_ != isa_) {
        best_peak_.emplace(best_isa_, dtype, threads_);
    }
    problem_.fill();
    call();  // warms caches and the library's threads up
    const double seconds = time_of(threads_, [this] { call(); });
    calls_ = static_cast<int>(std::clamp(std::ceil(1e-3 / std::max(seconds, 1e-9)), 1.0, 1e5));
}

void ForwardMeter::call() { check(flashwright_forward(&problem_.args(), &execution_)); }

double ForwardMeter::repeat() {
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
    return seconds_.back();
}

ForwardResult ForwardMeter::result() const {
    const double peak = peak_->gflops();
    return {kernel_,
            isa_,
            threads_,
            seconds_,
            1e-9 * forward_flops(problem_.shape()) / quarter(seconds_),
            peak,
            best_isa_,
            best_peak_ ? best_peak_->gflops() : peak};
}

}  // namespace flashwright
