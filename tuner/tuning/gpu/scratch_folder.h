// A folder for files that nobody needs afterwards, and reading them.
#pragma once

#include <string>

namespace flashwright {

// Goes with all that is in it. Throws std::runtime_error if it cannot be made.
class ScratchFolder {
 public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder &) = delete;
    ScratchFolder &operator=(const ScratchFolder &) = delete;

    const std::string &path() const { return path_; }
    std::string path(const std::string &name) const { return path_ + "/" + name; }

 private:
    std::string path_;
};

// The whole file; empty if it cannot be read.
std::string text_of(const std::string &path);

}  // namespace flashwright
