// Views as the generated kernels take them.
#pragma once

#include <cstdint>

#include "HalideRuntime.h"
#include "tensor_view.h"

namespace flashwright {

// A view of at most two dimensions that starts at index 0. It holds its own dimensions: it stays where it was made.
class TileBuffer {
 public:
    TileBuffer() = default;
    TileBuffer(const TileBuffer &) = delete;
    TileBuffer &operator=(const TileBuffer &) = delete;

    // [channel, row] of one head.
    void set_matrix(const StridedTensor &view, std::int64_t batch, std::int64_t head);
    // [row] of one head.
    void set_rows(const StridedTensor &view, std::int64_t batch, std::int64_t head);
    // A row of values that belongs to no tensor.
    void set_row_memory(void *memory, flashwright_dtype dtype);
    // Contiguous values that belong to no tensor.
    void set_vector(void *memory, flashwright_dtype dtype, std::int64_t extent);
    // [column, row] of memory in which a row's columns follow each other, `row_stride` elements from row to row.
    void set_memory(void *memory, flashwright_dtype dtype, std::int64_t columns, std::int64_t rows,
                    std::int64_t row_stride);
    // One element that stands for all of [columns, row].
    void set_constant(const void *element, flashwright_dtype dtype, std::int64_t columns);

    // The tile of rows [row, row + rows).
    void move_to(std::int64_t row, std::int64_t rows);
    // Asks the caches for all of the tile at once: a kernel touches it in an order that hardware does not guess.
    // Does nothing where channels lie apart.
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
