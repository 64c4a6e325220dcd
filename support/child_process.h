// Work in processes of their own, so that whatever it does (crash, hang, eat memory) ends with them. Each child leads a
// process group, which is killed as one, and dies with its parent.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flashwright {

struct ChildLimits {
    double silent_seconds;       // without a record, or for a program in all
    std::uint64_t memory_bytes;  // of address space beyond what the parent has; 0: no limit
};

enum class ChildEnd { finished, failed, crashed, out_of_memory, timed_out, interrupted };

struct ChildOutcome {
    ChildEnd end = ChildEnd::finished;
    std::string detail;  // one line for the reader
    double seconds = 0;  // wall time
};

using StopRequested = std::function<bool()>;

// What a child tells its parent.
struct Record {
    std::int32_t kind = 0, candidate = 0, shape = 0;
    double value = 0;
    char text[168] = "";
};

class RecordSender {
 public:
    explicit RecordSender(int descriptor) : descriptor_(descriptor) {}
    void send(const Record &record) const;  // ends the process if nobody listens

 private:
    int descriptor_;
};

// Runs `body` in a child, which sees this process' memory as it is now, and `on_record` here for what it sends.
ChildOutcome run_in_child(const ChildLimits &limits, const std::function<void(const RecordSender &)> &body,
                          const std::function<void(const Record &)> &on_record, const StopRequested &stop_requested);

// A program, started and looked at now and then.
class ChildProgram {
 public:
    // Its output goes to the file `log`. Throws std::runtime_error if no process can be made.
    ChildProgram(const std::vector<std::string> &command, const ChildLimits &limits, const std::string &log);
    ~ChildProgram();  // kills what still runs
    ChildProgram(const ChildProgram &) = delete;
    ChildProgram &operator=(const ChildProgram &) = delete;

    bool ended();  // looks, and kills it past its time
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
