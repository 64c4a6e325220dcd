#include "journal.h"

#include "support/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr const char *kIdentity = "identity", *kVersionKey = "journal";
constexpr int kVersion = 2;  // 1 had other names for its members
constexpr int kLockAttempts = 20;
constexpr useconds_t kLockPauseMicroseconds = 100'000;

}  // namespace

Journal::Journal(const std::string &path, const nlohmann::json &identity, bool resume) : path_(path) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    lock();
    if (resume) {
        read(identity);
    } else if (ftruncate(descriptor_, 0) != 0) {
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    // The empty line ends a line that a kill may have cut.
    write_line((resume ? "\n" : "") + dumped(nlohmann::json{{kVersionKey, kVersion}, {kIdentity, identity}}) + "\n");
}

Journal::~Journal() { close(descriptor_); }

void Journal::append(const JournalEntry &entry) {
    write_line(dumped(nlohmann::json(entry)) + "\n");
    entries_.push_back(entry);
}

void Journal::lock() {
    // The children of a killed run hold its lock until they end.
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
        if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
        usleep(kLockPauseMicroseconds);
    }
    close(descriptor_);
    throw std::runtime_error(fmt::format("{}: another run is writing it", path_));
}

void Journal::read(const nlohmann::json &identity) {
    std::ifstream file(path_, std::ios::binary);
    bool ours = false;
    for (std::string text; std::getline(file, text);) {
        if (text.empty()) continue;
        const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
        if (line.is_object() && line.contains(kIdentity)) {
            if (line.value(kVersionKey, nlohmann::json(1)) != kVersion) {
                close(descriptor_);
                throw std::runtime_error(
                    fmt::format("{}: expected a journal of version {}, got an older one; run again without --resume",
                                path_, kVersion));
            }
            ours = line[kIdentity] == identity;
        } else if (ours) {
            read_entry(line);
        } else {
            ++foreign_;
        }
    }
}

void Journal::read_entry(const nlohmann::json &line) {
    try {
        entries_.push_back(line.get<JournalEntry>());
    } catch (const std::exception &) {
        ++foreign_;
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
