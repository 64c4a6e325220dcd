// NumPy .npy files, versions 1 to 3: <f4, <f8, |b1 and <i4 in C or Fortran order.
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

std::string dtype_name(flashwright_dtype dtype);  // f32, f64, bool, i32
std::size_t dtype_size(flashwright_dtype dtype);
std::string shape_text(const std::vector<std::int64_t> &shape);  // [2, 3]

// An array in C order without memory. `name` is what the message calls it if it is too large.
NpyArray planned_array(const std::string &name, flashwright_dtype dtype, std::vector<std::int64_t> shape);
void allocate(NpyArray &planned);  // zeroed
NpyArray new_array(const std::string &name, flashwright_dtype dtype, std::vector<std::int64_t> shape);

// Throws std::runtime_error that names the file, what was expected and what came.
NpyArray read_npy(const std::string &path);

struct NpyOutput {
    std::string path;
    const NpyArray *array;
};

// Writes all or nothing: each array to a temporary file beside its place, and then renames them. Throws
// std::runtime_error.
void write_npy(const std::vector<NpyOutput> &outputs);

}  // namespace flashwright
