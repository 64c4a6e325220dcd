#include "tile_buffer.h"

#include "kernels/dtype_dispatch.h"

namespace flashwright {
namespace {

halide_type_t halide_type(flashwright_dtype dtype) {
    if (const Dtype *row = find_dtype(dtype)) {
        const bool bfloat = row->halide[0] == 'b';  // bfloat16, not float16
        return {bfloat ? halide_type_bfloat : halide_type_float, static_cast<std::uint8_t>(8 * row->bytes)};
    }
    return dtype == FLASHWRIGHT_I32 ? halide_type_t{halide_type_int, 32} : halide_type_t{halide_type_uint, 8};
}

// check_int32_span has checked that extents and strides fit. An axis without a checked stride has extent 1 or 0.
halide_dimension_t dimension(std::int64_t extent, std::int64_t stride) {
    return {0, static_cast<std::int32_t>(extent), static_cast<std::int32_t>(stride)};
}

}  // namespace

void TileBuffer::set(char *head, flashwright_dtype dtype, std::int64_t row_bytes, int dimensions) {
    head_ = head;
    row_bytes_ = row_bytes;
    buffer_.type = halide_type(dtype);
    buffer_.dimensions = dimensions;
    buffer_.dim = dimensions_;
    buffer_.host = reinterpret_cast<std::uint8_t *>(head);
}

void TileBuffer::set_matrix(const StridedTensor &view, std::int64_t batch, std::int64_t head) {
    set(view.at(batch, head, 0), view.dtype, view.row_bytes(), 2);
    dimensions_[0] = dimension(view.shape[kChannel], view.strides[kChannel]);
    dimensions_[1] = dimension(view.shape[kRow], view.strides[kRow]);
}

void TileBuffer::set_rows(const StridedTensor &view, std::int64_t batch, std::int64_t head) {
    set(view.at(batch, head, 0), view.dtype, view.row_bytes(), 1);
    dimensions_[0] = dimension(view.shape[kRow], view.strides[kRow]);
}

void TileBuffer::set_row_memory(void *memory, flashwright_dtype dtype) {
    set(static_cast<char *>(memory), dtype, 0, 1);
    dimensions_[0] = dimension(0, 1);
}

void TileBuffer::set_vector(void *memory, flashwright_dtype dtype, std::int64_t extent) {
    set(static_cast<char *>(memory), dtype, 0, 1);
    dimensions_[0] = dimension(extent, 1);
}

void TileBuffer::set_memory(void *memory, flashwright_dtype dtype, std::int64_t columns, std::int64_t rows,
                            std::int64_t row_stride) {
    set(static_cast<char *>(memory), dtype, 0, 2);
    dimensions_[0] = dimension(columns, 1);
    dimensions_[1] = dimension(rows, row_stride);
}

void TileBuffer::set_constant(const void *element, flashwright_dtype dtype, std::int64_t columns) {
    set(static_cast<char *>(const_cast<void *>(element)), dtype, 0, 2);
    dimensions_[0] = dimension(columns, 0);
    dimensions_[1] = dimension(0, 0);
}

void TileBuffer::move_to(std::int64_t row, std::int64_t rows) {
    buffer_.host = reinterpret_cast<std::uint8_t *>(head_ + row * row_bytes_);
    dimensions_[buffer_.dimensions - 1].extent = static_cast<std::int32_t>(rows);
}

void TileBuffer::prefetch() const {
    constexpr std::int64_t kLine = 64;
    if (dimensions_[0].stride != 1) return;
    const std::int64_t bytes = std::int64_t{dimensions_[0].extent} * (buffer_.type.bits / 8);
    const std::uint8_t *row = buffer_.host;
    for (std::int32_t i = 0; i < dimensions_[1].extent; ++i, row += row_bytes_) {
        for (std::int64_t byte = 0; byte < bytes; byte += kLine) __builtin_prefetch(row + byte);
    }
}

}  // namespace flashwright
