#include "timed_problem.h"

#include "candidate.h"
#include "measure/backward_sample.h"
#include "measure/forward_sample.h"

#include <algorithm>
#include <cmath>

namespace flashwright {
namespace {

constexpr double kTimedOperations = 1e9;  // heads beyond this much work only repeat what was measured

class TimedForward : public TimedProblem {
 public:
    TimedForward(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement)
        : problem_(shape, dtype, placement) {
        problem_.fill();
    }
    void run(const Candidate &candidate) const override { candidate.forward(problem_.args(), true); }

 private:
    ForwardSample problem_;
};

class TimedBackward : public TimedProblem {
 public:
    TimedBackward(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement)
        : problem_(shape, dtype, placement) {
        problem_.fill();
    }
    void run(const Candidate &candidate) const override { candidate.backward(problem_.args()); }

 private:
    BackwardSample problem_;
};

}  // namespace

std::unique_ptr<TimedProblem> make_timed_problem(const KernelFamily &family, const ShapeSpec &shape,
                                                 std::uint32_t placement) {
    if (family.op == "backward") return std::make_unique<TimedBackward>(shape, family.element_type(), placement);
    return std::make_unique<TimedForward>(shape, family.element_type(), placement);
}

ShapeSpec timed_shape(const KernelFamily &family, ShapeSpec shape) {
    const std::int64_t group = shape.num_heads / shape.num_heads_kv;
    ShapeSpec one = shape;
    one.batch = one.num_heads_kv = 1;
    one.num_heads = group;
    const double groups = std::ceil(kTimedOperations / operations_of(family, one));
    const std::int64_t wanted = static_cast<std::int64_t>(std::min(groups, 1e6));
    shape.num_heads_kv = std::min(shape.num_heads_kv, wanted);
    shape.num_heads = shape.num_heads_kv * group;
    shape.batch = std::min(shape.batch, (wanted + shape.num_heads_kv - 1) / shape.num_heads_kv);
    return shape;
}

double operations_of(const KernelFamily &family, const ShapeSpec &shape) {
    return family.op == "backward" ? backward_flops(shape) : forward_flops(shape);
}

std::uint64_t tensor_bytes(const ShapeSpec &shape) {
    constexpr int kTensors = 9;  // of backward; lse and delta beside them are thin
    const std::int64_t widest = shape.num_heads * std::max(shape.seqlen_q, shape.seqlen_k) *
                                std::max(shape.head_dim, shape.head_dim_v) * shape.batch;
    return static_cast<std::uint64_t>(widest) * kTensors * sizeof(double);
}

}  // namespace flashwright
