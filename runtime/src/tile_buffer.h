// Buffers that the generated kernels take.
#pragma once

#include <cstdint>

#include "HalideRuntime.h"
#include "tensor_view.h"

namespace flashwright {

// A view of at most two dimensions that starts at index 0. Not copyable, since it points to its own dimensions.
class TileBuffer {
 public:
    TileBuffer() = default;
    TileBuffer(const TileBuffer &) = delete;
    TileBuffer &operator=(const TileBuffer &) = delete;

    // [channel, row] of one head.
    void set_matrix(const StridedTensor &view, std::int64_t batch, std::int64_t head);
    // [row] of one head.
    void set_rows(const StridedTensor &view, std::int64_t batch, std::int64_t head);
    // Memory outside of any tensor for one value per row.
    void set_row_memory(void *memory, flashwright_dtype dtype);
    // `extent` contiguous values outside of any tensor.
    void set_vector(void *memory, flashwright_dtype dtype, std::int64_t extent);
    // [column, row] of memory outside of any tensor, with contiguous columns and `row_stride` elements between rows.
    void set_memory(void *memory, flashwright_dtype dtype, std::int64_t columns, std::int64_t rows,
                    std::int64_t row_stride);
    // One element, broadcast to [columns, row].
    void set_constant(const void *element, flashwright_dtype dtype, std::int64_t columns);

    // Moves to the tile of rows [row, row + rows).
    void move_to(std::int64_t row, std::int64_t rows);
    // Prefetches the whole tile, which kernels read in an order that hardware does not predict. Does nothing if
    // channels are not contiguous.
    void prefetch() const;

    halide_buffer_t *get() { return &buffer_; }

 private:
    void set(char *head, flashwright_dtype dtype, std::int64_t row_bytes, int dimensions);

    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[2];
    char *head_ = nullptr;  // row 0
    std::int64_t row_bytes_ = 0;
};

}  // namespace flashwright
