// Forward and backward over a table of small shapes against the reference: for targets whose tests run nowhere else, so
// it wants no test library, threads or exceptions.
#include "kernels/dtype_dispatch.h"
#include "reference/contiguous_tensor.h"
#include "reference/reference_attention.h"
#include "reference/reference_gradient.h"
#include "reference/tensor_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace flashwright {
namespace {

struct Shape {
    std::int64_t heads, seqlen_q, seqlen_k, head_dim, head_dim_v;
    bool causal;
};

constexpr Shape kShapes[] = {
    {1, 1, 1, 1, 1, false},     {2, 7, 5, 3, 3, false},     {1, 16, 16, 8, 8, false},      {1, 12, 300, 16, 16, false},
    {2, 33, 65, 32, 32, false}, {1, 64, 64, 64, 64, true},  {1, 61, 61, 40, 24, true},     {1, 5, 130, 20, 36, true},
    {1, 130, 19, 24, 8, true},  {3, 48, 96, 59, 59, false}, {1, 100, 100, 128, 128, true},
};

// Numbers about -1 to 1, the same everywhere.
void fill(const flashwright_tensor &tensor, std::uint32_t seed) {
    dispatch_cpu_dtype(tensor.dtype, [&](auto element) {
        auto *values = static_cast<decltype(element) *>(tensor.data);
        for (std::size_t n = 0; n < element_count(tensor); ++n) {
            seed = seed * 1664525U + 1013904223U;
            values[n] = static_cast<decltype(element)>(static_cast<double>(seed >> 8) / (1 << 23) - 1.0);
        }
    });
}

// The tensors of a backward call; forward uses some of them.
struct Problem {
    Problem(const Shape &s, flashwright_dtype dtype) {
        flashwright_backward_args_init(&args);
        args.q = args.dq = contiguous_tensor(dtype, {1, s.heads, s.seqlen_q, s.head_dim});
        args.k = args.dk = contiguous_tensor(dtype, {1, s.heads, s.seqlen_k, s.head_dim});
        args.v = args.dv = contiguous_tensor(dtype, {1, s.heads, s.seqlen_k, s.head_dim_v});
        args.out = args.dout = contiguous_tensor(dtype, {1, s.heads, s.seqlen_q, s.head_dim_v});
        args.softmax_lse = contiguous_tensor(accumulation_dtype(dtype), {1, s.heads, s.seqlen_q});
        args.score.causal = s.causal ? 1 : 0;
        memory = allocate_tensors(
            {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse, &args.dout, &args.dq, &args.dk, &args.dv});
        fill(args.q, 1);
        fill(args.k, 2);
        fill(args.v, 3);
        fill(args.dout, 4);
    }

    flashwright_forward_args forward() const {
        return {args.q, args.k, args.v, args.out, args.softmax_lse, args.score};
    }

    flashwright_backward_args args;
    std::unique_ptr<std::byte[]> memory;
};

// The largest difference, relative to the largest value or 1; NaN if anything is.
double difference(const flashwright_tensor &tensor, const std::vector<double> &expected) {
    const TensorRows got(tensor);
    double largest = 0.0, scale = 1.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (std::isnan(got.values()[i])) return NAN;
        largest = std::max(largest, std::fabs(got.values()[i] - expected[i]));
        scale = std::max(scale, std::fabs(expected[i]));
    }
    return largest / scale;
}

bool attend(const Shape &s, const Dtype &dtype) {
    const Problem problem(s, dtype_id(dtype.name));
    const flashwright_forward_args forward = problem.forward();
    flashwright_status status = flashwright_forward(&forward, nullptr);
    if (status.code == FLASHWRIGHT_OK) status = flashwright_backward(&problem.args, nullptr);
    const ReferenceAttention attention = reference_attention(forward);
    const ReferenceGradient gradient = expected_gradient(problem.args);
    const double errors[] = {difference(problem.args.out, attention.out), difference(problem.args.dq, gradient.dq),
                             difference(problem.args.dk, gradient.dk), difference(problem.args.dv, gradient.dv)};
    bool good = status.code == FLASHWRIGHT_OK;
    for (const double error : errors) good = good && error <= dtype.forward_tolerance;
    std::printf("%s %s %dx%dx%d, head_dim %d, %d%s: out %.1e, dq %.1e, dk %.1e, dv %.1e %s\n", good ? "ok" : "FAILED",
                dtype.name, static_cast<int>(s.heads), static_cast<int>(s.seqlen_q), static_cast<int>(s.seqlen_k),
                static_cast<int>(s.head_dim), static_cast<int>(s.head_dim_v), s.causal ? ", causal" : "", errors[0],
                errors[1], errors[2], errors[3], status.message);
    return good;
}

bool has_kernels_of(flashwright_dtype dtype) {
    for (std::int32_t i = 0; i < flashwright_kernel_count(); ++i) {
        if (flashwright_kernel(i).dtype == dtype && std::strcmp(flashwright_kernel(i).op, "backward") == 0) return true;
    }
    return false;
}

int run_all() {
    int failed = 0, run = 0;
    for (const Shape &shape : kShapes) {
        for (const Dtype &dtype : kDtypes) {
            if (!has_kernels_of(dtype_id(dtype.name))) continue;
            failed += attend(shape, dtype) ? 0 : 1;
            ++run;
        }
    }
    std::printf("%d of %d failed, %s\n", failed, run, flashwright_isa(flashwright_isa_count() - 1).name);
    return failed == 0 && run > 0 ? 0 : 1;
}

}  // namespace
}  // namespace flashwright

int main() { return flashwright::run_all(); }
