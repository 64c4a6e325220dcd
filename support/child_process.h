// Runs work in child processes, so that a crash, a hang or lack of memory ends only the child. Each child leads a
// process group, which is killed as a whole, and dies with its parent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flashwright {

struct ChildLimits {
    double silent_seconds;       // without a record; for a program in total
    std::uint64_t memory_bytes;  // of address space, in addition to the parent's; 0: no limit
};

enum class ChildEnd { finished, failed, crashed, out_of_memory, timed_out, interrupted };

struct ChildOutcome {
    ChildEnd end = ChildEnd::finished;
    std::string detail;  // of a failure, in one line
    double seconds = 0;  // wall time
};

using StopRequested = std::function<bool()>;

// A message from a child to its parent.
struct Record {
    std::int32_t kind = 0, candidate = 0, shape = 0;
    double value = 0;
    char text[168] = "";
};

class RecordSender {
 public:
    explicit RecordSender(int descriptor) : descriptor_(descriptor) {}
    void send(const Record &record) const;  // ends the process if the parent is gone

 private:
    int descriptor_;
};

// Runs `body` in a child, with a copy of this process' memory. Calls `on_record` in this process for each record.
ChildOutcome run_in_child(const ChildLimits &limits, const std::function<void(const RecordSender &)> &body,
                          const std::function<void(const Record &)> &on_record, const StopRequested &stop_requested);

// A program that runs in the background and is polled.
class ChildProgram {
 public:
    // Its output goes to the file `log`. Throws std::runtime_error if no process can be made.
    ChildProgram(const std::vector<std::string> &command, const ChildLimits &limits, const std::string &log);
    ~ChildProgram();  // kills it if it still runs
    ChildProgram(const ChildProgram &) = delete;
    ChildProgram &operator=(const ChildProgram &) = delete;

    bool ended();  // polls, and kills it after its time limit
    const ChildOutcome &outcome() const { return outcome_; }

 private:
    pid_t group_;
    double start_, time_limit_;
    bool running_ = true;
    std::string log_;
    ChildOutcome outcome_;
};

ChildOutcome run_program(const std::vector<std::string> &command, const ChildLimits &limits, const std::string &log);

}  // namespace flashwright
