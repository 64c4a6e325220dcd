#include "journal.h"

#include "journal_entry.h"
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

constexpr const char *kIdentity = "identity";
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
    // The empty line ends what a kill may have cut.
    write_line((resume ? "\n" : "") + dumped(nlohmann::json{{kIdentity, identity}}) + "\n");
}

Journal::~Journal() { close(descriptor_); }

void Journal::append(const nlohmann::json &entry) {
    write_line(dumped(entry) + "\n");
    entries_.push_back(entry);
}

void Journal::lock() {
    // Children of a run that was killed hold its lock until they are gone, too.
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
        if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
        usleep(kLockPauseMicroseconds);
    }
    close(descriptor_);
    throw std::runtime_error(fmt::format("{}: it is being written by another run", path_));
}

void Journal::read(const nlohmann::json &identity) {
    std::ifstream file(path_, std::ios::binary);
    bool ours = false;
    for (std::string line; std::getline(file, line);) {
        if (line.empty()) continue;
        nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
        if (entry.is_object() && entry.contains(kIdentity)) {
            ours = entry[kIdentity] == identity;
        } else if (ours && is_journal_entry(entry)) {
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
