#include "tensor_reader.h"

#include "element.h"
#include "kernels/dtype_dispatch.h"

namespace flashwright {

TensorReader::TensorReader(const flashwright_tensor &tensor)
    : data_(tensor.data), dtype_(tensor.dtype), bytes_(element_type(tensor.dtype).bytes) {
    for (int axis = 0; axis < 4; ++axis) {
        const int source = axis - (4 - tensor.rank);
        shape_[axis] = source < 0 ? 1 : tensor.shape[source];
        strides_[axis] = shape_[axis] == 1 ? 0 : tensor.strides[source];
    }
}

double TensorReader::operator()(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) const {
    const std::int64_t n = batch * strides_[0] + head * strides_[1] + row * strides_[2] + channel * strides_[3];
    return load_element(static_cast<const std::byte *>(data_) + n * bytes_, dtype_);
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
