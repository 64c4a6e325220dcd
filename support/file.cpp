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
#include <fstream>
#include <iterator>
#include <list>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace flashwright {
namespace {

constexpr std::size_t kLongestTransfer = 1 << 30;  // Linux transfers at most 2 GiB at once

[[noreturn]] void fail_with_errno(const std::string &what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

bool is_link(const std::filesystem::path &path) {
    std::error_code error;
    return std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
}

// The target of symbolic links, also if it does not exist.
std::filesystem::path behind_links(const std::string &path) {
    std::error_code error;
    std::filesystem::path place = std::filesystem::absolute(path, error);
    if (!error) {
        place = std::filesystem::weakly_canonical(place, error);
    }
    while (!error && is_link(place)) {  // dangling: weakly_canonical does not follow it
        place = place.parent_path() / std::filesystem::read_symlink(place, error);
        if (!error) {
            place = std::filesystem::weakly_canonical(place, error);
        }
    }
    if (error) {
        throw std::runtime_error(fmt::format("{}: {}", path, error.message()));
    }
    return place;
}

// Refuses a device or a folder: a rename would replace the device, and would fail for the folder after others were
// renamed.
std::filesystem::path place_of(const std::string &path) {
    std::filesystem::path place = behind_links(path);
    std::error_code error;
    const auto status = std::filesystem::status(place, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        throw std::runtime_error(fmt::format("{}: expected a place for a regular file", path));
    }
    if (access(place.parent_path().c_str(), W_OK | X_OK) != 0) {
        fail_with_errno(path);
    }
    return place;
}

std::vector<std::filesystem::path> places_of(const std::vector<std::string> &paths) {
    std::vector<std::filesystem::path> places;
    for (const std::string &path : paths) {
        std::filesystem::path place = place_of(path);
        if (std::find(places.begin(), places.end(), place) != places.end()) {
            throw std::runtime_error(fmt::format("{}: expected a file of its own for each output", path));
        }
        places.push_back(std::move(place));
    }
    return places;
}

// A temporary file that is renamed when it is complete and removed otherwise.
class PendingFile {
 public:
    explicit PendingFile(const std::filesystem::path &path) : path_(path), descriptor_(-1) {
        struct stat old;
        const bool replaces = stat(path_.c_str(), &old) == 0;
        const mode_t mode = replaces ? old.st_mode & 0777 : 0666;
        open_temporary(mode);
        if (replaces && fchmod(descriptor_, mode) != 0) {  // undoes the umask
            const int error = errno;
            discard();
            errno = error;
            fail_with_errno(path_.string());
        }
    }
    ~PendingFile() {
        if (!committed_) {
            discard();
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
    // The name is short, because the final name may have the maximum length. Files of killed runs are skipped.
    void open_temporary(mode_t mode) {
        for (int i = 0; descriptor_ < 0; ++i) {
            temporary_ = path_.parent_path() / fmt::format(".flashwright-{}-{}.tmp", getpid(), i);
            descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
            if (descriptor_ < 0 && errno != EEXIST) {
                fail_with_errno(path_.string());
            }
        }
    }
    void discard() {
        if (descriptor_ >= 0) {
            close(descriptor_);
        }
        unlink(temporary_.c_str());
    }

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

void check_places(const std::vector<std::string> &paths) { places_of(paths); }

void write_files(const std::vector<FileContent> &files) {
    const DeferInterrupt defer;
    std::vector<std::string> paths;
    std::transform(files.begin(), files.end(), std::back_inserter(paths), [](const FileContent &f) { return f.path; });
    const std::vector<std::filesystem::path> places = places_of(paths);
    std::list<PendingFile> pending;
    for (std::size_t i = 0; i < files.size(); ++i) {
        PendingFile &file = pending.emplace_back(places[i]);
        file.write(files[i].start.data(), files[i].start.size());
        file.write(files[i].rest.data, files[i].rest.bytes);
        file.finish();
    }
    for (PendingFile &place : pending) {
        place.commit();
    }
}

std::string text_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace flashwright
