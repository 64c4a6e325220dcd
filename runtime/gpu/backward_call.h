// One backward call on tensors in host memory: padded copies of them, and passes that each own what they write.
#pragma once

#include "backward_tensors.h"

namespace flashwright {

class GpuBackwardCall {
 public:
    // Refers to the arguments.
    GpuBackwardCall(const BackwardProblem &problem, const GpuGradientKernel &kernel, void *context)
        : problem_(problem), p_(problem.forward), kernel_(kernel), t_(problem, kernel, context) {}

    flashwright_status prepare();
    // Halide's error codes: of the passes, which may still run, of the wait for them, and of bringing their results.
    int launch() { return t_.launch(); }
    int wait() { return t_.wait(); }
    int fetch();
    // The host's results to the caller's gradients.
    void deliver() const;

 private:
    // Of row i or key j, in its head: which of the other side it sees.
    struct Seen {
        std::int64_t first, last;
    };
    static constexpr Seen kNone{0, -1};

    void describe_keys(std::int64_t b, std::int64_t h);
    void describe_rows(std::int64_t b, std::int64_t h);
    Seen rows_of(const KeyRange &range, std::int64_t j) const;
    static Seen keys_of(const KeyRange &range, std::int64_t i);
    float *columns_of(const DeviceTensor &tensor, std::int64_t row) const;
    float delta(std::int64_t b, std::int64_t h, std::int64_t i) const;
    static void set_seen(const Seen &seen, float *columns);
    void deliver_bias_gradient(const DeviceTensor &scores) const;
    void deliver_gradient(const DeviceTensor &result, std::int64_t gradient, const StridedTensor &to,
                          std::int64_t padded_rows, bool of_keys) const;

    const BackwardProblem &problem_;
    const ForwardProblem &p_;
    const GpuGradientKernel &kernel_;
    GpuBackwardTensors t_;
};

}  // namespace flashwright
