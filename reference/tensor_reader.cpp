#include "tensor_reader.h"

#include "binary16.h"

namespace flashwright {

TensorReader::TensorReader(const flashwright_tensor &tensor) : data_(tensor.data), dtype_(tensor.dtype) {
    for (int axis = 0; axis < 4; ++axis) {
        const int source = axis - (4 - tensor.rank);
        shape_[axis] = source < 0 ? 1 : tensor.shape[source];
        strides_[axis] = shape_[axis] == 1 ? 0 : tensor.strides[source];
    }
}

double TensorReader::operator()(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) const {
    const std::int64_t n = batch * strides_[0] + head * strides_[1] + row * strides_[2] + channel * strides_[3];
    switch (dtype_) {
        case FLASHWRIGHT_F32:
            return static_cast<const float *>(data_)[n];
        case FLASHWRIGHT_F64:
            return static_cast<const double *>(data_)[n];
        case FLASHWRIGHT_F16:
            return binary16_value(static_cast<const std::uint16_t *>(data_)[n]);
        case FLASHWRIGHT_I32:
            return static_cast<const std::int32_t *>(data_)[n];
        case FLASHWRIGHT_BOOL:
            break;
    }
    return static_cast<const std::uint8_t *>(data_)[n] != 0;
}

TensorRows::TensorRows(const flashwright_tensor &tensor) {
    const TensorReader read(tensor);
    for (int axis = 0; axis < 4; ++axis) shape_[axis] = read.extent(axis);
    values_.reserve(static_cast<std::size_t>(shape_[0] * shape_[1] * shape_[2] * shape_[3]));
    for (std::int64_t batch = 0; batch < shape_[0]; ++batch)
        for (std::int64_t head = 0; head < shape_[1]; ++head)
            for (std::int64_t row = 0; row < shape_[2]; ++row)
                for (std::int64_t channel = 0; channel < shape_[3]; ++channel)
                    values_.push_back(read(batch, head, row, channel));
}

}  // namespace flashwright
