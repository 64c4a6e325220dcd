// Element-wise work around backward kernels: copies operands to the layout of the kernels, and results to the caller.
#pragma once

#include <cstdint>

#include "head_matrix.h"

namespace flashwright {

// to[r][c] = from[begin + r][c]; 0 where r >= rows or c >= from.channels.
template <typename T>
void copy_padded(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                 std::int64_t padded_channels, T *to);

// to[c][r] = from[begin + r][c], with the same padding.
template <typename T>
void copy_transposed(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                     std::int64_t padded_channels, T *to);

// Copies sums to a tensor: to[begin + r][c] = scale * from[r][c], or += from[r][c].
template <typename Sum, typename T>
void store(const Sum *from, std::int64_t padded_channels, Sum scale, std::int64_t rows, const HeadMatrix<T> &to,
           std::int64_t begin);
template <typename Sum, typename T>
void add(const Sum *from, std::int64_t padded_channels, std::int64_t rows, const HeadMatrix<T> &to, std::int64_t begin);

template <typename T>
void fill_zero(const HeadMatrix<T> &to, std::int64_t begin, std::int64_t rows);

// The sum of a[c] * b[c] over the channels of one row, in double.
template <typename T>
double dot_row(const HeadMatrix<T> &a, const HeadMatrix<T> &b, std::int64_t row);

}  // namespace flashwright
