// The text in front of the data of an .npy file: a Python dictionary literal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashwright {

struct NpyHeader {
    std::string descr;
    bool fortran_order;
    std::vector<std::int64_t> shape;
};

// Throws std::runtime_error that says what was expected and what came.
NpyHeader parse_npy_header(std::string_view text);
std::string format_npy_header(const NpyHeader &header);

}  // namespace flashwright
