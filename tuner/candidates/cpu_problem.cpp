#include "cpu_problem.h"

#include "cpu_candidate.h"
#include "guarded_tensors.h"
#include "kernels/dtype_dispatch.h"
#include "measure/backward_sample.h"
#include "measure/forward_sample.h"
#include "reference/attention_error.h"
#include "reference/contiguous_tensor.h"
#include "reference/reference_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {
namespace {

constexpr std::int64_t kLongest = 1024;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct CheckOptions {
    std::int64_t window_left = -1, window_right = -1;
    bool bottom_right = false;
    std::int64_t masked_keys = 0;  // the last keys, which no query attends to: they hold infinities
};

flashwright_forward_args forward_args(const ShapeSpec &shape, flashwright_dtype dtype, const CheckOptions &options) {
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = contiguous_tensor(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim});
    args.k = contiguous_tensor(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim});
    args.v = contiguous_tensor(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim_v});
    args.out = contiguous_tensor(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim_v});
    args.softmax_lse = contiguous_tensor(accumulation_dtype(dtype), {shape.batch, shape.num_heads, shape.seqlen_q});
    args.score.causal = shape.causal ? 1 : 0;
    args.score.window_left = options.window_left;
    args.score.window_right = options.window_right;
    if (options.bottom_right) args.score.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    return args;
}

void fill_inputs(const flashwright_forward_args &args, const CheckOptions &options, std::mt19937 &random) {
    for (const flashwright_tensor *tensor : {&args.q, &args.k, &args.v}) fill_normal(*tensor, random);
    if (options.masked_keys == 0) return;
    for (const flashwright_tensor *tensor : {&args.k, &args.v})
        fill_rows(*tensor, tensor->shape[2] - options.masked_keys, kInfinity);
}

class ForwardCheck : public CheckProblem {
 public:
    ForwardCheck(const ShapeSpec &shape, flashwright_dtype dtype, const CheckOptions &options)
        : CheckProblem(shape),
          args_(forward_args(shape, dtype, options)),
          inputs_{&args_.q, &args_.k, &args_.v},
          outputs_{&args_.out, &args_.softmax_lse} {
        std::mt19937 random(1);
        fill_inputs(args_, options, random);
        reference_ = reference_attention(args_);
    }

    double error_of(const CpuCandidate &candidate) override {
        outputs_.poison();
        candidate.forward(args_, false);
        if (!outputs_.canaries_whole()) return kInfinity;
        const AttentionError error = attention_error(reference_, args_.out, args_.softmax_lse);
        return std::max(error.out, error.softmax_lse) / forward_tolerance(args_.out.dtype);
    }

 private:
    flashwright_forward_args args_;
    GuardedTensors inputs_, outputs_;
    ReferenceAttention reference_;
};

// The inputs are the reference output and lse, rounded.
class BackwardCheck : public CheckProblem {
 public:
    BackwardCheck(const ShapeSpec &shape, flashwright_dtype dtype, const CheckOptions &options)
        : CheckProblem(shape),
          forward_(forward_args(shape, dtype, options)),
          forward_tensors_{&forward_.q, &forward_.k, &forward_.v, &forward_.out, &forward_.softmax_lse},
          args_(backward_args(forward_)),
          inputs_{&args_.dout},
          outputs_{&args_.dq, &args_.dk, &args_.dv} {
        std::mt19937 random(1);
        fill_inputs(forward_, options, random);
        fill_normal(args_.dout, random);
        const ReferenceAttention reference = reference_attention(forward_);
        fill_with(forward_.out, reference.out);
        fill_with(forward_.softmax_lse, reference.softmax_lse);
        reference_ = expected_gradient(args_);
    }

    double error_of(const CpuCandidate &candidate) override {
        outputs_.poison();
        candidate.backward(args_);
        if (!outputs_.canaries_whole()) return kInfinity;
        double largest = 0;
        for (const auto &[name, error] : gradient_error(reference_, args_).gradients)
            largest = std::max(largest, error);
        return largest / gradient_tolerance(args_.dq.dtype);
    }

 private:
    static flashwright_backward_args backward_args(const flashwright_forward_args &forward) {
        flashwright_backward_args args;
        flashwright_backward_args_init(&args);
        args.q = args.dq = forward.q;
        args.k = args.dk = forward.k;
        args.v = args.dv = forward.v;
        args.out = args.dout = forward.out;
        args.softmax_lse = forward.softmax_lse;
        args.score = forward.score;
        return args;
    }

    flashwright_forward_args forward_;
    GuardedTensors forward_tensors_;
    flashwright_backward_args args_;
    GuardedTensors inputs_, outputs_;
    ReferenceGradient reference_;
};

constexpr double kTimedOperations = 1e9;  // more heads would only repeat the same work

class TimedForward : public TimedProblem {
 public:
    TimedForward(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement)
        : problem_(shape, dtype, placement) {
        problem_.fill();
    }
    void run(const CpuCandidate &candidate) const override { candidate.forward(problem_.args(), true); }

 private:
    ForwardSample problem_;
};

class TimedBackward : public TimedProblem {
 public:
    TimedBackward(const ShapeSpec &shape, flashwright_dtype dtype, std::uint32_t placement)
        : problem_(shape, dtype, placement) {
        problem_.fill();
    }
    void run(const CpuCandidate &candidate) const override { candidate.backward(problem_.args()); }

 private:
    BackwardSample problem_;
};

}  // namespace

std::vector<std::unique_ptr<CheckProblem>> check_problems(const KernelFamily &family,
                                                          const std::vector<ShapeSpec> &timed) {
    // 65 rows of 40 channels, which fill no tile; one row; more keys than rows, masked ones too, and the reverse;
    // narrow and wide values.
    std::vector<std::pair<ShapeSpec, CheckOptions>> problems = {
        {{1, 2, 1, 65, 65, 40, 40, false}, {}},
        {{1, 1, 1, 65, 65, 40, 40, true}, {}},
        {{1, 1, 1, 1, 130, 64, 64, false}, {}},
        {{2, 1, 1, 67, 259, 72, 48, true}, {-1, -1, true, 0}},
        {{1, 1, 1, 150, 70, 33, 57, true}, {}},
        {{1, 1, 1, 129, 300, 64, 64, false}, {37, 11, false, 0}},
        {{1, 1, 1, 70, 140, 40, 40, true}, {-1, -1, false, 70}},
    };
    for (ShapeSpec shape : timed) {
        shape.batch = shape.num_heads = shape.num_heads_kv = 1;
        shape.seqlen_q = std::min(shape.seqlen_q, kLongest);
        shape.seqlen_k = std::min(shape.seqlen_k, kLongest);
        problems.emplace_back(shape, CheckOptions{});
    }
    std::vector<std::unique_ptr<CheckProblem>> checks;
    for (const auto &[shape, options] : problems) {
        if (family.op == "backward") {
            checks.push_back(std::make_unique<BackwardCheck>(shape, family.element_type(), options));
        } else {
            checks.push_back(std::make_unique<ForwardCheck>(shape, family.element_type(), options));
        }
    }
    return checks;
}

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
