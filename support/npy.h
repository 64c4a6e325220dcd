// NumPy .npy files, versions 1 to 3, in C or Fortran order, with elements of any dtype of a tensor.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

struct NpyArray {
    flashwright_dtype dtype;
    std::vector<std::int64_t> shape;
    bool fortran_order = false;
    std::unique_ptr<std::byte[]> data;
};

std::string shape_text(const std::vector<std::int64_t> &shape);  // [2, 3]

// An array in C order without memory, and its memory, zeroed. Throws std::runtime_error with this name if it is larger
// than any memory.
NpyArray planned_array(flashwright_dtype dtype, std::vector<std::int64_t> shape);
void allocate(const std::string &name, NpyArray &planned);
NpyArray new_array(const std::string &name, flashwright_dtype dtype, std::vector<std::int64_t> shape);

// A view of the array's own memory. Throws std::runtime_error with this name for a rank that no tensor has.
flashwright_tensor tensor_of(const std::string &name, const NpyArray &array, std::size_t least_rank = 1);

// Throws std::runtime_error with the file, what was expected and what came.
NpyArray read_npy(const std::string &path);

struct NpyOutput {
    std::string path;
    const NpyArray *array;
};

// Writes all or nothing: each array to a temporary file beside its place, then renames them. Throws
// std::runtime_error.
void write_npy(const std::vector<NpyOutput> &outputs);

}  // namespace flashwright
