#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr const char *kIdentity = "identity";

}  // namespace

Journal::Journal(const std::string &path, const nlohmann::json &identity, bool resume) : path_(path) {
    if (resume) read(identity);
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666);
    if (descriptor_ < 0) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    // The empty line ends what a kill may have cut.
    write_line((resume ? "\n" : "") + nlohmann::json{{kIdentity, identity}}.dump() + "\n");
}

Journal::~Journal() { close(descriptor_); }

void Journal::append(const nlohmann::json &entry) {
    write_line(entry.dump() + "\n");
    entries_.push_back(entry);
}

void Journal::read(const nlohmann::json &identity) {
    std::ifstream file(path_, std::ios::binary);
    bool ours = false;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
        if (entry.is_object() && entry.contains(kIdentity)) {
            ours = entry[kIdentity] == identity;
        } else if (entry.is_object() && ours) {
            entries_.push_back(std::move(entry));
        } else {
            ++foreign_;
        }
    }
}

void Journal::write_line(const std::string &line) {
    std::size_t done = 0;
    while (done < line.size()) {
        const ssize_t count = write(descriptor_, line.data() + done, line.size() - done);
        if (count < 0 && errno != EINTR) throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno)));
        if (count > 0) done += static_cast<std::size_t>(count);
    }
    if (fdatasync(descriptor_) != 0 && errno != EINVAL)
        throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno)));
}

}  // namespace flashwright
