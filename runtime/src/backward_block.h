// The element-wise work around the gradient's kernels: operands brought into the kernels' form, results brought to the
// caller's.
#pragma once

#include <cstdint>

#include "head_matrix.h"

namespace flashwright {

// to[r][c] = from[begin + r][c]; 0 where r >= rows or c >= from.channels.
template <typename T>
void copy_padded(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                 std::int64_t padded_channels, T *to);

// to[c][r], likewise.
template <typename T>
void copy_transposed(const HeadMatrix<T> &from, std::int64_t begin, std::int64_t rows, std::int64_t padded_rows,
                     std::int64_t padded_channels, T *to);

// to[begin + r][c] = scale * from[r][c], and += from[r][c], from sums to elements of a tensor.
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
