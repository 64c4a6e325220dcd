// One backward call on tensors in host memory. It makes padded copies of them and runs the passes of a kernel. Each
// pass owns what it writes.
#pragma once

#include "backward_tensors.h"

namespace flashwright {

class GpuBackwardCall {
 public:
    // Refers to the arguments.
    GpuBackwardCall(const BackwardProblem &problem, const GpuBackwardKernel &kernel, void *context)
        : problem_(problem), p_(problem.forward), kernel_(kernel), t_(problem, kernel, context) {}

    flashwright_status prepare();
    // Each returns Halide's error code. `launch` starts the passes, `wait` waits for them, `fetch` copies their results
    // to the host.
    int launch() { return t_.launch(); }
    int wait() { return t_.wait(); }
    int fetch();
    // Copies the fetched results to the caller's gradients.
    void deliver() const;

 private:
    // The unmasked keys of a row, or the unmasked rows of a key, in their head.
    struct Range {
        std::int64_t first, last;
    };
    static constexpr Range kNone{0, -1};

    void describe_keys(std::int64_t b, std::int64_t h);
    void describe_rows(std::int64_t b, std::int64_t h);
    Range rows_of(const KeyRange &range, std::int64_t j) const;
    static Range keys_of(const KeyRange &range, std::int64_t i);
    float *columns_of(const DeviceTensor &tensor, std::int64_t row) const;
    float delta(std::int64_t b, std::int64_t h, std::int64_t i) const;
    static void set_unmasked(const Range &unmasked, float *columns);
    void deliver_bias_gradient(const DeviceTensor &scores) const;
    void deliver_gradient(const DeviceTensor &result, std::int64_t gradient, const StridedTensor &to,
                          std::int64_t padded_rows, bool of_keys) const;

    const BackwardProblem &problem_;
    const ForwardProblem &p_;
    const GpuBackwardKernel &kernel_;
    GpuBackwardTensors t_;
};

}  // namespace flashwright
