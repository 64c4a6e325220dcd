#include "npy.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace flashwright::test {

namespace {

template <typename T>
std::vector<double> decode(const char *from, std::size_t bytes) {
    std::vector<T> values(bytes / sizeof(T));
    std::memcpy(values.data(), from, values.size() * sizeof(T));
    return {values.begin(), values.end()};
}

}  // namespace

NpyArray read_npy(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) throw std::runtime_error("not a .npy file: " + path);
    std::uint16_t header_size;
    std::memcpy(&header_size, bytes.data() + 8, 2);
    const std::string header = bytes.substr(10, header_size);
    const char *data = bytes.data() + 10 + header_size;
    const std::size_t size = bytes.size() - 10 - header_size;

    NpyArray array;
    const char *at = header.c_str() + header.find('(', header.find("'shape'")) + 1;
    while (*at != ')') {
        char *end = nullptr;
        const long extent = std::strtol(at, &end, 10);
        if (end != at) array.shape.push_back(extent);
        at = end != at ? end : at + 1;
    }
    if (header.find("<f4") != std::string::npos)
        array.values = decode<float>(data, size);
    else if (header.find("<f8") != std::string::npos)
        array.values = decode<double>(data, size);
    else if (header.find("<i4") != std::string::npos)
        array.values = decode<std::int32_t>(data, size);
    else
        throw std::runtime_error("unexpected type in " + path + ": " + header);
    return array;
}

}  // namespace flashwright::test
