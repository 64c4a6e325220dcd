// Reads a flashwright_tensor of any rank and strides as [batch, heads, seqlen, channel].
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

namespace flashwright {

template <typename T>
struct StridedView {
    const T *data;
    std::int64_t shape[4];
    std::int64_t strides[4];

    // Lower ranks get ones in front; an axis of extent 1 is read at index 0 whatever the index, which is broadcasting.
    explicit StridedView(const flashwright_tensor &tensor) : data(static_cast<const T *>(tensor.data)) {
        for (int axis = 0; axis < 4; ++axis) {
            const int source = axis - (4 - tensor.rank);
            shape[axis] = source < 0 ? 1 : tensor.shape[source];
            strides[axis] = shape[axis] == 1 ? 0 : tensor.strides[source];
        }
    }

    T operator()(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
        return data[a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3]];
    }
};

}  // namespace flashwright
