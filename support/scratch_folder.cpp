#include "scratch_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace flashwright {

ScratchFolder::ScratchFolder() : path_((std::filesystem::temp_directory_path() / "flashwright-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno)));
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace flashwright
