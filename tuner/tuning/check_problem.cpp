#include "check_problem.h"

#include "attention_error.h"
#include "candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>

namespace flashwright {
namespace {

constexpr std::byte kPoison{0xff};  // a NaN in every dtype
constexpr std::size_t kCanaryBytes = 4096;
constexpr std::int64_t kLongest = 1024;

flashwright_tensor contiguous(flashwright_dtype dtype, std::initializer_list<std::int64_t> shape) {
    flashwright_tensor tensor = {};
    tensor.dtype = dtype;
    tensor.rank = static_cast<std::int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), tensor.shape);
    std::int64_t stride = 1;
    for (int axis = tensor.rank - 1; axis >= 0; stride *= tensor.shape[axis--]) tensor.strides[axis] = stride;
    return tensor;
}

std::size_t bytes_of(const flashwright_tensor &tensor) {
    const std::size_t element = tensor.dtype == FLASHWRIGHT_F64 ? sizeof(double) : sizeof(float);
    return static_cast<std::size_t>(tensor.shape[0] * tensor.strides[0]) * element;
}

// Each tensor in memory of its own, canaries at both ends.
std::vector<std::byte> memory_for(std::initializer_list<flashwright_tensor *> tensors) {
    std::size_t bytes = kCanaryBytes;
    for (const flashwright_tensor *tensor : tensors) bytes += bytes_of(*tensor) + kCanaryBytes;
    std::vector<std::byte> memory(bytes, kPoison);
    std::byte *place = memory.data() + kCanaryBytes;
    for (flashwright_tensor *tensor : tensors) {
        tensor->data = place;
        place += bytes_of(*tensor) + kCanaryBytes;
    }
    return memory;
}

template <typename T>
void fill(const flashwright_tensor &tensor, std::mt19937 &random) {
    std::normal_distribution<double> normal;
    auto *values = static_cast<T *>(tensor.data);
    std::generate(values, values + bytes_of(tensor) / sizeof(T), [&] { return static_cast<T>(normal(random)); });
}

bool all_poison(const std::byte *begin, const std::byte *end) {
    return std::all_of(begin, end, [](std::byte b) { return b == kPoison; });
}

}  // namespace

CheckProblem::CheckProblem(const ShapeSpec &shape, flashwright_dtype dtype, const CheckOptions &options)
    : name_(to_string(shape)) {
    flashwright_forward_args_init(&args_);
    args_.q = contiguous(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim});
    args_.k = contiguous(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim});
    args_.v = contiguous(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim_v});
    args_.out = contiguous(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim_v});
    args_.softmax_lse = contiguous(dtype, {shape.batch, shape.num_heads, shape.seqlen_q});
    inputs_ = memory_for({&args_.q, &args_.k, &args_.v});
    outputs_ = memory_for({&args_.out, &args_.softmax_lse});
    args_.score.causal = shape.causal ? 1 : 0;
    args_.score.window_left = options.window_left;
    args_.score.window_right = options.window_right;
    if (options.bottom_right) args_.score.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    std::mt19937 random(1);
    for (const flashwright_tensor *tensor : {&args_.q, &args_.k, &args_.v}) {
        if (dtype == FLASHWRIGHT_F64) {
            fill<double>(*tensor, random);
        } else {
            fill<float>(*tensor, random);
        }
    }
    exact_ = exact_attention(args_);
}

double CheckProblem::error_of(const Candidate &candidate) {
    std::fill(outputs_.begin(), outputs_.end(), kPoison);
    candidate.forward(args_, false);
    const std::byte *next = outputs_.data();
    for (const flashwright_tensor *tensor : {&args_.out, &args_.softmax_lse}) {
        const auto *begin = static_cast<const std::byte *>(tensor->data);
        if (!all_poison(next, begin)) return std::numeric_limits<double>::infinity();
        next = begin + bytes_of(*tensor);
    }
    if (!all_poison(next, outputs_.data() + outputs_.size())) return std::numeric_limits<double>::infinity();
    const AttentionError error = attention_error(exact_, args_.out, args_.softmax_lse);
    return std::max(error.out, error.softmax_lse) / attention_tolerance(args_.out.dtype);
}

std::vector<CheckProblem> check_problems(flashwright_dtype dtype, const std::vector<ShapeSpec> &timed) {
    // 65 rows of 40 channels fill no tile; one row; more keys than rows and the reverse; narrow and wide values.
    const std::pair<ShapeSpec, CheckOptions> awkward[] = {
        {{1, 2, 1, 65, 65, 40, 40, false}, {}}, {{1, 1, 1, 65, 65, 40, 40, true}, {}},
        {{1, 1, 1, 1, 130, 64, 64, false}, {}}, {{2, 1, 1, 67, 259, 72, 48, true}, {-1, -1, true}},
        {{1, 1, 1, 150, 70, 33, 57, true}, {}}, {{1, 1, 1, 129, 300, 64, 64, false}, {37, 11, false}},
    };
    std::vector<CheckProblem> problems;
    for (const auto &[shape, options] : awkward) problems.emplace_back(shape, dtype, options);
    for (ShapeSpec shape : timed) {
        shape.batch = shape.num_heads = shape.num_heads_kv = 1;
        shape.seqlen_q = std::min(shape.seqlen_q, kLongest);
        shape.seqlen_k = std::min(shape.seqlen_k, kLongest);
        problems.emplace_back(shape, dtype, CheckOptions{});
    }
    return problems;
}

}  // namespace flashwright
