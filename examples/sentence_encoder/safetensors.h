// Reads .safetensors files: an 8-byte little-endian length, a JSON header of that many bytes that says of each tensor
// its dtype, shape and where its bytes lie, then those bytes.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

class SafetensorsFile {
 public:
    // Throws std::runtime_error, as read does.
    explicit SafetensorsFile(const std::string &path);

    // The elements of an F32 tensor, which must have this shape.
    std::vector<float> read(const std::string &name, const std::vector<std::size_t> &shape);

 private:
    [[noreturn]] void fail(const std::string &what) const;

    std::string path_;
    std::ifstream file_;
    std::uint64_t data_begin_ = 0, data_bytes_ = 0;
    nlohmann::json header_;
};
