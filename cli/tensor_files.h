// Tensors that are read from .npy files.
#pragma once

#include "flashwright/flashwright.h"
#include "support/npy.h"

#include <optional>
#include <string>

namespace flashwright {

// Owns the tensor of a file.
class TensorFile {
 public:
    TensorFile(const std::string &name, const std::string &path, std::size_t least_rank = 1)
        : array_(read_npy(path)), tensor_(tensor_of(name, array_, least_rank)) {}
    const NpyArray &array() const { return array_; }
    const flashwright_tensor &tensor() const { return tensor_; }

 private:
    NpyArray array_;
    flashwright_tensor tensor_;
};

// Null for a file that was not given.
const flashwright_tensor *read_optional(const std::string &name, const std::string &path,
                                        std::optional<TensorFile> &file);

}  // namespace flashwright
