#include "safetensors.h"

#include <stdexcept>

namespace {

// Far more than any header has; a file of another kind is found out before it is read into memory.
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string &path) : path_(path), file_(path, std::ios::binary) {
    unsigned char start[8] = {};
    file_.seekg(0, std::ios::end);
    const std::streamoff end = file_.tellg();
    file_.seekg(0);
    file_.read(reinterpret_cast<char *>(start), sizeof start);
    if (!file_) fail("cannot be read, or is shorter than 8 bytes");
    const auto file_bytes = static_cast<std::uint64_t>(end);
    std::uint64_t header_bytes = 0;
    for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | start[i];
    if (header_bytes > kMostHeaderBytes || header_bytes > file_bytes - sizeof start)
        fail("expected a header within the file, got a length of " + std::to_string(header_bytes));
    std::string text(header_bytes, '\0');
    file_.read(text.data(), static_cast<std::streamsize>(header_bytes));
    header_ = nlohmann::json::parse(text, nullptr, false);
    if (!file_ || !header_.is_object()) fail("expected a JSON object as header");
    data_begin_ = sizeof start + header_bytes;
    data_bytes_ = file_bytes - data_begin_;
}

std::vector<float> SafetensorsFile::read(const std::string &name, const std::vector<std::size_t> &shape) {
    const auto entry = header_.find(name);
    if (entry == header_.end()) fail("has no tensor " + name);
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    std::vector<std::uint64_t> range;
    try {
        if (entry->at("dtype") != "F32") fail(name + ": expected F32, got " + entry->at("dtype").dump());
        if (entry->at("shape") != nlohmann::json(shape))
            fail(name + ": expected shape " + nlohmann::json(shape).dump() + ", got " + entry->at("shape").dump());
        entry->at("data_offsets").get_to(range);
    } catch (const nlohmann::json::exception &error) {
        fail(name + ": " + error.what());
    }
    if (range.size() != 2 || range[0] > range[1] || range[1] > data_bytes_ ||
        range[1] - range[0] != count * sizeof(float))
        fail(name + ": expected " + std::to_string(count * sizeof(float)) + " bytes within the file");
    std::vector<float> values(count);
    file_.seekg(static_cast<std::streamoff>(data_begin_ + range[0]));
    file_.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(count * sizeof(float)));
    if (!file_) fail(name + ": cannot be read");
    return values;
}

void SafetensorsFile::fail(const std::string &what) const { throw std::runtime_error(path_ + ": " + what); }
