#include "file.h"

#include "interrupt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <list>
#include <set>
#include <stdexcept>
#include <utility>

namespace flashwright {
namespace {

constexpr std::size_t kLongestTransfer = 1 << 30;  // Linux moves no more than 2 GiB at once

[[noreturn]] void fail_with_errno(const std::string &what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// The file behind symbolic links. A device or a folder is refused: a rename would replace the one, and fails on the
// other when the rest is already in place.
std::filesystem::path place_of(const std::string &path) {
    std::error_code error;
    std::filesystem::path place = std::filesystem::weakly_canonical(path, error);
    if (error) {
        throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
    }
    const auto status = std::filesystem::status(place, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        throw std::runtime_error(fmt::format("{}: expected a place for a regular file", path));
    }
    return place;
}

// A file that is renamed to its place when it is complete, and removed when it is not.
class PendingFile {
 public:
    explicit PendingFile(const std::filesystem::path &path)
        : path_(path),
          temporary_(path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), getpid())),
          descriptor_(open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
        if (descriptor_ < 0) {
            fail_with_errno(path_.string());
        }
    }
    ~PendingFile() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
        if (!committed_) {
            unlink(temporary_.c_str());
        }
    }
    PendingFile(const PendingFile &) = delete;
    PendingFile &operator=(const PendingFile &) = delete;

    void write(const void *data, std::size_t bytes) {
        const auto *next = static_cast<const std::byte *>(data);
        while (bytes > 0) {
            const ssize_t written = ::write(descriptor_, next, std::min(bytes, kLongestTransfer));
            if (written < 0 && errno != EINTR) {
                fail_with_errno(path_.string());
            }
            next += std::max<ssize_t>(written, 0);
            bytes -= static_cast<std::size_t>(std::max<ssize_t>(written, 0));
        }
    }
    void finish() {
        if (fsync(descriptor_) != 0 || close(std::exchange(descriptor_, -1)) != 0) {
            fail_with_errno(path_.string());
        }
    }
    void commit() {
        if (rename(temporary_.c_str(), path_.c_str()) != 0) {
            fail_with_errno(path_.string());
        }
        committed_ = true;
    }

 private:
    std::filesystem::path path_, temporary_;
    int descriptor_;
    bool committed_ = false;
};

}  // namespace

InputFile::InputFile(const std::string &path)
    : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), bytes_left_(0) {
    struct stat status;
    if (descriptor_ < 0) {
        throw std::runtime_error(std::strerror(errno));
    }
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor_);
        throw std::runtime_error("expected a regular file");
    }
    bytes_left_ = static_cast<std::size_t>(status.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read(void *destination, std::size_t bytes, const std::string &what) {
    if (bytes > bytes_left_) {
        throw std::runtime_error(fmt::format("expected {}, got {} bytes and the end of the file", what, bytes_left_));
    }
    auto *next = static_cast<std::byte *>(destination);
    while (bytes > 0) {
        const ssize_t count = ::read(descriptor_, next, std::min(bytes, kLongestTransfer));
        if (count == 0 || (count < 0 && errno != EINTR)) {
            throw std::runtime_error(count == 0 ? "the file shrank while it was read" : std::strerror(errno));
        }
        next += std::max<ssize_t>(count, 0);
        bytes -= static_cast<std::size_t>(std::max<ssize_t>(count, 0));
        bytes_left_ -= static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
}

void write_files(const std::vector<FileContent> &files) {
    const DeferInterrupt defer;
    std::set<std::filesystem::path> places;
    std::list<PendingFile> pending;
    for (const FileContent &file : files) {
        const auto [path, is_new] = places.insert(place_of(file.path));
        if (!is_new) {
            throw std::runtime_error(fmt::format("{}: expected a file of its own for each output", file.path));
        }
        PendingFile &place = pending.emplace_back(*path);
        place.write(file.start.data(), file.start.size());
        place.write(file.rest.data, file.rest.bytes);
        place.finish();
    }
    for (PendingFile &place : pending) {
        place.commit();
    }
}

}  // namespace flashwright
