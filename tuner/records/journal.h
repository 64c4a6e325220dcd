// The append-only record of a tuning run: JSON lines, each on disk before the next thing is tried.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

class Journal {
 public:
    // `identity` says what the entries depend on (machine, generator). With `resume`, entries of the same identity that
    // the file holds are entries() and it is continued; else it begins anew. A last line that is not whole is left
    // behind. Throws std::runtime_error if the file cannot be written, or another run has it open.
    Journal(const std::string &path, const nlohmann::json &identity, bool resume);
    ~Journal();
    Journal(const Journal &) = delete;
    Journal &operator=(const Journal &) = delete;

    void append(const nlohmann::json &entry);
    const std::vector<nlohmann::json> &entries() const { return entries_; }
    std::size_t foreign() const { return foreign_; }  // entries of another identity, and lines that are none

 private:
    std::string path_;
    int descriptor_;
    std::vector<nlohmann::json> entries_;
    std::size_t foreign_ = 0;

    void lock();
    void read(const nlohmann::json &identity);
    void write_line(const std::string &line);
};

}  // namespace flashwright
