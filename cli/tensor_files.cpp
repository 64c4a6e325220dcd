#include "tensor_files.h"

namespace flashwright {

const flashwright_tensor *read_optional(const std::string &name, const std::string &path,
                                        std::optional<TensorFile> &file) {
    if (path.empty()) {
        return nullptr;
    }
    return &file.emplace(name, path).tensor();
}

}  // namespace flashwright
