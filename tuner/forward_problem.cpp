#include "forward_problem.h"

#include <algorithm>
#include <initializer_list>

namespace flashwright {
namespace {

std::int64_t element_count(const flashwright_tensor &tensor) {
    std::int64_t count = 1;
    for (int axis = 0; axis < tensor.rank; ++axis) {
        count *= tensor.shape[axis];
    }
    return count;
}

flashwright_tensor contiguous(flashwright_dtype dtype, std::initializer_list<std::int64_t> shape) {
    flashwright_tensor tensor = {};
    tensor.dtype = dtype;
    tensor.rank = static_cast<std::int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), tensor.shape);
    std::int64_t stride = 1;
    for (int axis = tensor.rank - 1; axis >= 0; --axis) {
        tensor.strides[axis] = stride;
        stride *= tensor.shape[axis];
    }
    return tensor;
}

template <typename T>
void fill_with_g(const flashwright_tensor &tensor, std::int64_t s) {
    T *data = static_cast<T *>(tensor.data);
    for (std::int64_t n = 0; n < element_count(tensor); ++n) {
        data[n] = static_cast<T>((37 * n + 101 * s + 13) % 97 - 48) / 32;
    }
}

}  // namespace

ForwardProblem::ForwardProblem(const ShapeSpec &shape, flashwright_dtype dtype) : shape_(shape) {
    flashwright_forward_args_init(&args_);
    args_.q = contiguous(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim});
    args_.k = contiguous(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim});
    args_.v = contiguous(dtype, {shape.batch, shape.num_heads_kv, shape.seqlen_k, shape.head_dim_v});
    args_.out = contiguous(dtype, {shape.batch, shape.num_heads, shape.seqlen_q, shape.head_dim_v});
    args_.score.causal = shape.causal ? 1 : 0;

    constexpr std::size_t kAlignment = 64;
    const std::size_t element_size = dtype == FLASHWRIGHT_F64 ? sizeof(double) : sizeof(float);
    flashwright_tensor *const tensors[] = {&args_.q, &args_.k, &args_.v, &args_.out};
    const auto padded_bytes = [&](const flashwright_tensor *tensor) {
        const std::size_t bytes = static_cast<std::size_t>(element_count(*tensor)) * element_size;
        return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    };
    std::size_t bytes = kAlignment;
    for (const flashwright_tensor *tensor : tensors) {
        bytes += padded_bytes(tensor);
    }
    memory_.reset(new std::byte[bytes]);
    void *place = memory_.get();
    std::align(kAlignment, bytes - kAlignment, place, bytes);
    for (flashwright_tensor *tensor : tensors) {
        tensor->data = place;
        place = static_cast<std::byte *>(place) + padded_bytes(tensor);
    }
}

void ForwardProblem::fill() {
    std::int64_t s = 0;
    for (const flashwright_tensor *tensor : {&args_.q, &args_.k, &args_.v}) {
        ++s;
        if (tensor->dtype == FLASHWRIGHT_F64) {
            fill_with_g<double>(*tensor, s);
        } else {
            fill_with_g<float>(*tensor, s);
        }
    }
}

}  // namespace flashwright
