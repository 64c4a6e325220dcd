#include "contiguous_tensor.h"

#include "kernels/dtype_dispatch.h"

#include <algorithm>
#include <random>

namespace flashwright {
namespace {

constexpr std::size_t kAlignment = 64, kPage = 4096, kMallocAlignment = 16;

std::size_t padded_bytes(const flashwright_tensor &tensor) {
    const std::size_t bytes = element_count(tensor) * static_cast<std::size_t>(element_type(tensor.dtype).bytes);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
void fill(const flashwright_tensor &tensor, std::int64_t s) {
    T *data = static_cast<T *>(tensor.data);
    const auto count = static_cast<std::int64_t>(element_count(tensor));
    for (std::int64_t n = 0; n < count; ++n) {
        data[n] = static_cast<T>(static_cast<double>((37 * n + 101 * s + 13) % 97 - 48) / 32);
    }
}

}  // namespace

std::size_t element_count(const flashwright_tensor &tensor) {
    std::int64_t count = 1;
    for (int axis = 0; axis < tensor.rank; ++axis) {
        count *= tensor.shape[axis];
    }
    return static_cast<std::size_t>(count);
}

flashwright_tensor contiguous_tensor(flashwright_dtype dtype, std::initializer_list<std::int64_t> shape) {
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

std::unique_ptr<std::byte[]> allocate_tensors(std::initializer_list<flashwright_tensor *> tensors,
                                              std::uint32_t placement) {
    const std::size_t room = placement == 0 ? 0 : kPage;
    std::size_t bytes = kAlignment;
    for (const flashwright_tensor *tensor : tensors) {
        bytes += padded_bytes(*tensor) + room;
    }
    std::unique_ptr<std::byte[]> memory(new std::byte[bytes]);
    void *place = memory.get();
    std::align(kAlignment, bytes - kAlignment, place, bytes);
    std::mt19937 random(placement);
    for (flashwright_tensor *tensor : tensors) {
        const std::size_t offset = room == 0 ? 0 : random() % (room / kMallocAlignment) * kMallocAlignment;
        tensor->data = static_cast<std::byte *>(place) + offset;
        place = static_cast<std::byte *>(place) + padded_bytes(*tensor) + room;
    }
    return memory;
}

void fill_with_g(const flashwright_tensor &tensor, std::int64_t s) {
    dispatch_cpu_dtype(tensor.dtype, [&](auto element) { fill<decltype(element)>(tensor, s); });
}

}  // namespace flashwright
