// Element-wise work around backward kernels: copies operands to the layout of the kernels, and results to the caller.
#pragma once

#include <algorithm>
#include <cstdint>

#include "head_matrix.h"

namespace flashwright {

// to[r][c] = from[begin + r][c]; 0 where r >= rows or c >= from.channels.
template <typename T>
void copy_padded(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                 std::int64_t padded_channels, T *to) {
    with_stride(from.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r, to += padded_channels) {
            const T *row = from.row(begin + r);
            for (std::int64_t c = 0; c < from.channels; ++c) to[c] = row[c * stride];
            std::fill(to + from.channels, to + padded_channels, T{0});
        }
    });
    std::fill(to, to + (padded_rows - rows) * padded_channels, T{0});
}

// to[c][r] = from[begin + r][c], with the same padding.
template <typename T>
void copy_transposed(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                     std::int64_t padded_channels, T *to) {
    constexpr std::int64_t kRows = 16;  // a cache line of the target
    for (std::int64_t first = 0; first < rows; first += kRows) {
        const std::int64_t count = std::min(kRows, rows - first);
        for (std::int64_t c = 0; c < from.channels; ++c) {
            const T *column = from.row(begin + first) + c * from.channel_stride;
            T *target = to + c * padded_rows + first;
            for (std::int64_t r = 0; r < count; ++r) target[r] = column[r * from.row_stride];
        }
    }
    for (std::int64_t c = 0; c < from.channels; ++c) {
        std::fill(to + c * padded_rows + rows, to + (c + 1) * padded_rows, T{0});
    }
    std::fill(to + from.channels * padded_rows, to + padded_channels * padded_rows, T{0});
}

// Copies sums to a tensor: to[begin + r][c] = scale * from[r][c].
template <typename Sum, typename T>
void store(const Sum *from, std::int64_t padded_channels, Sum scale, std::int64_t rows, const HeadMatrix<T> &to,
           std::int64_t begin) {
    with_stride(to.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r, from += padded_channels) {
            T *row = to.row(begin + r);
            for (std::int64_t c = 0; c < to.channels; ++c) row[c * stride] = static_cast<T>(scale * from[c]);
        }
    });
}

// Adds sums to those in `to`: to[begin + r][c] += from[r][c].
template <typename Sum>
void add(const Sum *from, std::int64_t padded_channels, std::int64_t rows, const HeadMatrix<Sum> &to,
         std::int64_t begin) {
    with_stride(to.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r, from += padded_channels) {
            Sum *row = to.row(begin + r);
            for (std::int64_t c = 0; c < to.channels; ++c) row[c * stride] += from[c];
        }
    });
}

template <typename T>
void fill_zero(const HeadMatrix<T> &to, std::int64_t begin, std::int64_t rows) {
    with_stride(to.channel_stride, [&](auto stride) {
        for (std::int64_t r = 0; r < rows; ++r) {
            T *row = to.row(begin + r);
            for (std::int64_t c = 0; c < to.channels; ++c) row[c * stride] = T{0};
        }
    });
}

// The sum of a[c] * b[c] over the channels of one row, in double.
template <typename T>
double dot_row(const HeadMatrix<T> &a, const HeadMatrix<T> &b, std::int64_t row) {
    const T *x = a.row(row), *y = b.row(row);
    double sums[kPartials] = {};
    std::int64_t c = 0;
    const auto product = [&](std::int64_t channel) {
        return static_cast<double>(x[channel * a.channel_stride]) * static_cast<double>(y[channel * b.channel_stride]);
    };
    for (; c + kPartials <= a.channels; c += kPartials) {
        for (std::int64_t n = 0; n < kPartials; ++n) sums[n] += product(c + n);
    }
    for (; c < a.channels; ++c) sums[0] += product(c);
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

}  // namespace flashwright
