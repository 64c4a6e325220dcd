// One backward call on a device: padded copies of its tensors, and passes that each own what they write.
#pragma once

#include "device_problem.h"

namespace flashwright {

class GpuBackwardCall {
 public:
    // Refers to the arguments.
    GpuBackwardCall(const BackwardProblem &problem, const GpuGradientKernel &kernel, void *context);

    flashwright_status prepare();
    // Halide's error codes: of the passes, which may still run, of the wait for them, and of bringing their results.
    int launch();
    int wait() { return passes_[0].result.wait(); }
    int fetch();
    // The host's results to the caller's gradients.
    void deliver() const;

 private:
    // A pass that the call takes, and what it reads and gives beside the tensors of the call.
    struct PassCall {
        explicit PassCall(void *context) : plan(context), result(context) {}
        const GpuGradientKernel::Pass *pass = nullptr;
        DeviceTensor plan, result;
    };
    // Of row i or key j, in its head: which of the other side it sees.
    struct Seen {
        std::int64_t first, last;
    };
    static constexpr Seen kNone{0, -1};

    std::int64_t group() const { return p_.heads / p_.heads_kv; }
    void take_passes();
    flashwright_status allocate();
    flashwright_status allocate_pass(PassCall *call) const;
    void describe_keys(std::int64_t b, std::int64_t h);
    void describe_rows(std::int64_t b, std::int64_t h);
    Seen rows_of(const KeyRange &range, std::int64_t j) const;
    static Seen keys_of(const KeyRange &range, std::int64_t i);
    static float *columns_of(const DeviceTensor &tensor, std::int64_t row);
    static void set_seen(const Seen &seen, float *columns);
    void plan_blocks(const GpuGradientKernel::Pass &pass, const DeviceTensor &plan) const;
    void deliver_bias_gradient(const DeviceTensor &scores) const;
    void deliver_gradient(const DeviceTensor &result, std::int64_t gradient, const StridedTensor &to,
                          std::int64_t padded_rows, bool of_keys) const;

    const BackwardProblem &problem_;
    const ForwardProblem &p_;
    const GpuGradientKernel &kernel_;
    void *context_;
    std::int64_t rows_ = 1, keys_ = 1;
    DeviceTensor query_rows_{context_}, key_rows_{context_}, slope_{context_}, diagonal_key_{context_}, bias_{context_},
        mask_{context_}, bias_offset_{context_}, mask_offset_{context_};
    int pass_count_ = 0;
    PassCall passes_[4] = {PassCall(context_), PassCall(context_), PassCall(context_), PassCall(context_)};
};

}  // namespace flashwright
