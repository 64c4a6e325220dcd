// Reads whole files, and writes files that are complete or absent.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace flashwright {

// A regular file, read sequentially. All members throw std::runtime_error, without the path.
class InputFile {
 public:
    explicit InputFile(const std::string &path);
    ~InputFile();
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    std::size_t bytes_left() const { return bytes_left_; }
    void read(void *destination, std::size_t bytes, const std::string &what);

 private:
    int descriptor_;
    std::size_t bytes_left_;
};

// The whole file; empty if it cannot be read.
std::string text_of(const std::string &path);

struct FileContent {
    std::string path;
    std::string start;  // written first
    struct {
        const std::byte *data;
        std::size_t bytes;
    } rest;
};

// Throws std::runtime_error if write_files would fail for a path.
void check_places(const std::vector<std::string> &paths);

// Writes each to a temporary file in the same folder, then renames all. Before that the paths are unchanged, and an
// error or an interrupt leaves no temporary file. A replaced file keeps its permissions. Throws std::runtime_error.
void write_files(const std::vector<FileContent> &files);

}  // namespace flashwright
