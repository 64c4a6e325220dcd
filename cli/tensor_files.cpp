#include "tensor_files.h"

#include <fmt/format.h>

#include <stdexcept>

namespace flashwright {

flashwright_tensor tensor_of(const std::string &name, const NpyArray &array, std::size_t least_rank) {
    const std::size_t rank = array.shape.size();
    if (rank < least_rank || rank > 4) {
        throw std::runtime_error(
            fmt::format("{}: expected rank {} to 4, got {} {}", name, least_rank, rank, shape_text(array.shape)));
    }
    flashwright_tensor tensor = {};
    tensor.data = array.data.get();
    tensor.dtype = array.dtype;
    tensor.rank = static_cast<std::int32_t>(rank);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t axis = array.fortran_order ? i : rank - 1 - i;
        tensor.shape[axis] = array.shape[axis];
        tensor.strides[axis] = stride;
        stride *= array.shape[axis];
    }
    return tensor;
}

const flashwright_tensor *read_optional(const std::string &name, const std::string &path,
                                        std::optional<TensorFile> &file) {
    if (path.empty()) {
        return nullptr;
    }
    return &file.emplace(name, path).tensor();
}

}  // namespace flashwright
