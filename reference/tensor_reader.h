// Reads a tensor of any dtype, rank and strides as numbers in [batch, heads, seqlen, channel].
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flashwright {

// Lower ranks get axes of extent 1 in front. An axis of extent 1 is read at index 0 whatever the index, which is
// broadcasting.
class TensorReader {
 public:
    explicit TensorReader(const flashwright_tensor &tensor);
    double operator()(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) const;
    std::int64_t extent(int axis) const { return shape_[axis]; }

 private:
    const void *data_;
    flashwright_dtype dtype_;
    int bytes_;  // of an element
    std::int64_t shape_[4], strides_[4];
};

// A copy of a tensor in double, row-major, since the reference reads each row many times.
class TensorRows {
 public:
    explicit TensorRows(const flashwright_tensor &tensor);
    std::int64_t batches() const { return shape_[0]; }
    std::int64_t heads() const { return shape_[1]; }
    std::int64_t rows() const { return shape_[2]; }
    std::int64_t channels() const { return shape_[3]; }
    std::size_t index(std::int64_t batch, std::int64_t head, std::int64_t row) const {
        return static_cast<std::size_t>((batch * shape_[1] + head) * shape_[2] + row);
    }
    const double *row(std::int64_t batch, std::int64_t head, std::int64_t row) const {
        return values_.data() + index(batch, head, row) * static_cast<std::size_t>(shape_[3]);
    }
    const std::vector<double> &values() const { return values_; }

 private:
    std::int64_t shape_[4];
    std::vector<double> values_;
};

}  // namespace flashwright
