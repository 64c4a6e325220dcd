// Access to the elements of one head.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor_view.h"

namespace flashwright {

// A matrix of one head: `channels` elements a row.
template <typename T>
struct HeadMatrix {
    HeadMatrix(const StridedTensor &view, std::int64_t batch, std::int64_t head)
        : data(reinterpret_cast<T *>(view.at(batch, head, 0))),
          row_stride(view.strides[kRow]),
          channel_stride(view.strides[kChannel]),
          channels(view.shape[kChannel]) {}

    T *row(std::int64_t index) const { return data + index * row_stride; }

    T *data;
    std::int64_t row_stride, channel_stride, channels;
};

// Whether all of `rows` rows from `begin` are finite.
template <typename T>
bool all_finite(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows);

// Calls f(stride). A stride of 1 is passed as a compile-time constant.
template <typename F>
void with_stride(std::int64_t stride, F f) {
    if (stride == 1) {
        f(std::integral_constant<std::int64_t, 1>());
    } else {
        f(stride);
    }
}

// Number of independent partial sums, for instruction-level parallelism. Their order is fixed.
inline constexpr std::int64_t kPartials = 8;

}  // namespace flashwright
