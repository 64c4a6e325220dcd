// Between .npy files and the library's tensors.
#pragma once

#include "flashwright/flashwright.h"
#include "npy.h"

#include <optional>
#include <string>

namespace flashwright {

// A view of the array's own memory. Throws std::runtime_error for a rank that no tensor has; `name` is the argument's.
flashwright_tensor tensor_of(const std::string &name, const NpyArray &array, std::size_t least_rank = 1);

// The tensor of a file, kept as long as this.
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
