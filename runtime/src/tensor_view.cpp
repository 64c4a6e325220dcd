#include "tensor_view.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include "kernels/dtype_dispatch.h"
#include "status.h"

namespace flashwright {
namespace {

// No address space is larger, and sums of a few spans do not overflow.
constexpr std::int64_t kMaxSpanBytes = std::int64_t{1} << 60;

// Whether the view's first and last byte lie in the address space.
bool fits_address_space(const StridedTensor &view) {
    std::int64_t below = 0, above = 0;
    for (int axis = 0; axis < 4; ++axis) {
        std::int64_t bytes;
        if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &bytes)) return false;
        if (__builtin_mul_overflow(bytes, view.element_size, &bytes)) return false;
        if (bytes > kMaxSpanBytes || bytes < -kMaxSpanBytes) return false;
        (bytes < 0 ? below : above) += bytes;
    }
    return above - below <= kMaxSpanBytes;
}

flashwright_status check_data(const StridedTensor &view) {
    if (view.data == nullptr) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected data, got a NULL pointer", view.name);
    }
    if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(view.element_size) != 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected data aligned to %d bytes, got %p", view.name,
                           static_cast<int>(view.element_size), static_cast<const void *>(view.data));
    }
    return ok_status();
}

}  // namespace

std::int64_t element_bytes(flashwright_dtype dtype) {
    if (const Dtype *row = find_dtype(dtype)) return row->bytes;
    return dtype == FLASHWRIGHT_I32 ? 4 : 1;
}

const char *dtype_name(int dtype) {
    if (const Dtype *row = find_dtype(dtype)) return row->name;
    return dtype == FLASHWRIGHT_BOOL ? "bool" : dtype == FLASHWRIGHT_I32 ? "i32" : "an unknown dtype";
}

DtypeText::DtypeText(int dtype) {
    const bool known = find_dtype(dtype) != nullptr || dtype == FLASHWRIGHT_BOOL || dtype == FLASHWRIGHT_I32;
    if (known) {
        std::snprintf(text_, sizeof text_, "%s", dtype_name(dtype));
    } else {
        std::snprintf(text_, sizeof text_, "the unknown dtype number %d", dtype);
    }
}

std::int64_t StridedTensor::span(std::int64_t rows) const {
    if (empty() || rows == 0) return 0;
    const auto distance = [](std::int64_t count, std::int64_t stride) {
        return (count - 1) * (stride < 0 ? -stride : stride);
    };
    return distance(rows, strides[kRow]) + distance(shape[kChannel], strides[kChannel]);
}

flashwright_status normalise(const flashwright_tensor &tensor, const char *name, TensorForm form,
                             flashwright_dtype dtype, bool check_memory, StridedTensor *view) {
    const int max_rank = form.last - form.first + 1;
    if (tensor.rank < form.min_rank || tensor.rank > max_rank) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected rank %d to %d, got %d", name, form.min_rank,
                           max_rank, tensor.rank);
    }
    if (raw_value(tensor.dtype) != dtype) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected dtype %s, got %s", name, dtype_name(dtype),
                           DtypeText(raw_value(tensor.dtype)).text());
    }
    StridedTensor result;
    result.name = name;
    result.data = static_cast<char *>(tensor.data);
    result.given = true;
    result.dtype = dtype;
    result.element_size = element_bytes(dtype);
    for (int i = 0; i < tensor.rank; ++i) {
        const int axis = form.last + 1 - tensor.rank + i;
        if (tensor.shape[i] < 0) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "%s: expected extents of at least 0, got %" PRId64 " on axis %d", name, tensor.shape[i],
                               i);
        }
        result.shape[axis] = tensor.shape[i];
        if (tensor.shape[i] > 1) result.strides[axis] = tensor.strides[i];
    }
    if (result.empty()) {
        for (int axis = kBatch; axis <= kRow; ++axis) result.strides[axis] = 0;
        result.strides[kChannel] = 1;
    } else if (!fits_address_space(result)) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "%s: expected extents and strides that span at most 2^60 bytes, got more", name);
    }
    *view = result;
    return check_memory && !result.empty() ? check_data(result) : ok_status();
}

}  // namespace flashwright
