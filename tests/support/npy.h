// Reads the .npy files of the tests: C order, <f4, <f8 or <i4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashwright::test {

struct NpyArray {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
};

// Throws std::runtime_error.
NpyArray read_npy(const std::string &path);

}  // namespace flashwright::test
