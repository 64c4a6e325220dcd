// The append-only record of a tuning run: JSON lines, each on disk before the next candidate is tried.
#pragma once

#include "journal_entry.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace flashwright {

class Journal {
 public:
    // `identity` says what the entries depend on (machine, generator). With `resume`, entries() holds the file's
    // entries of the same identity and new ones are appended; otherwise the file is emptied. An incomplete last line is
    // ignored. Throws std::runtime_error if the file cannot be written, is open in another run, or is of another
    // version.
    Journal(const std::string &path, const nlohmann::json &identity, bool resume);
    ~Journal();
    Journal(const Journal &) = delete;
    Journal &operator=(const Journal &) = delete;

    void append(const JournalEntry &entry);
    const std::vector<JournalEntry> &entries() const { return entries_; }
    std::size_t foreign() const { return foreign_; }  // entries of another identity, and invalid lines

 private:
    std::string path_;
    int descriptor_;
    std::vector<JournalEntry> entries_;
    std::size_t foreign_ = 0;

    void lock();
    void read(const nlohmann::json &identity);
    void read_entry(const nlohmann::json &line);
    void write_line(const std::string &line);
};

}  // namespace flashwright
