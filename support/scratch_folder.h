// A temporary folder.
#pragma once

#include <string>

namespace flashwright {

// Is removed with its content. Throws std::runtime_error if it cannot be created.
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

}  // namespace flashwright
