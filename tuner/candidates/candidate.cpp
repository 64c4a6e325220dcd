#include "candidate.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace flashwright {
namespace {

std::runtime_error cannot_be_loaded(const std::string &why) {
    return std::runtime_error(fmt::format("cannot be loaded: {}", why));
}

// The path of a copy in memory.
std::string private_copy(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    if (!(text << file.rdbuf())) throw cannot_be_loaded(path + " cannot be read");
    const std::string content = text.str();
    const int copy = memfd_create("candidate", 0);
    if (copy < 0) throw cannot_be_loaded(std::strerror(errno));
    if (write(copy, content.data(), content.size()) != static_cast<ssize_t>(content.size()))
        throw cannot_be_loaded("no memory for a copy");
    return fmt::format("/proc/self/fd/{}", copy);  // stays open, so that each copy has its own name
}

}  // namespace

void *load_candidate(const std::string &shared_object) {
    void *library = dlopen(private_copy(shared_object).c_str(), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != nullptr ? dlsym(library, kCandidateSymbol) : nullptr;
    if (symbol == nullptr) throw cannot_be_loaded(dlerror());
    return symbol;
}

}  // namespace flashwright
