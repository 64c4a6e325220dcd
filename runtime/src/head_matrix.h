// Access to the elements of one head.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/dtype_dispatch.h"
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

// Whether all of `rows` rows from `begin` are finite.
template <typename T>
bool all_finite(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows) {
    using Sum = typename AccumulationOf<T>::type;
    bool finite = true;
    with_stride(from.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r) {
            const T *row = from.row(begin + r);
            // Infinity times 0 is NaN, and NaN stays.
            Sum zero[kPartials] = {};
            std::int64_t c = 0;
            for (; c + kPartials <= from.channels; c += kPartials) {
                for (std::int64_t n = 0; n < kPartials; ++n) zero[n] += row[(c + n) * stride] * Sum{0};
            }
            for (; c < from.channels; ++c) zero[0] += row[c * stride] * Sum{0};
            for (const Sum value : zero) finite = finite && value == Sum{0};
        }
    });
    return finite;
}

}  // namespace flashwright
