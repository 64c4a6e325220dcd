#include "child_process.h"

#include "clocks.h"
#include "text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>

namespace flashwright {
namespace {

constexpr int kFailedExit = 1;
constexpr int kMemoryExit = 97;  // an allocation failed
constexpr int kNoProgramExit = 98;
constexpr int kPollMilliseconds = 50;
constexpr std::size_t kLongestLogLine = 200;

std::uint64_t address_space_in_use() {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t value) {
    const rlimit both = {value, value};
    setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// Address and thread sanitizers reserve terabytes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = true;
#endif

// In the child: its own process group, limits, default signals, death with the parent, output to the log.
void become_child(pid_t parent, const ChildLimits &limits, const char *log) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kFailedExit);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, SIG_DFL);
    limit(RLIMIT_CORE, 0);
    if (kLimitsMemory && limits.memory_bytes > 0) limit(RLIMIT_AS, address_space_in_use() + limits.memory_bytes);
    const int out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
}

pid_t fork_or_throw() {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error(fmt::format("no new process: {}", std::strerror(errno)));
    return child;
}

void kill_group(pid_t group) {
    kill(-group, SIGKILL);
    kill(group, SIGKILL);  // it may not lead its group yet
}

ChildOutcome outcome_of(int status) {
    ChildOutcome outcome;
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        outcome.end = signal == SIGKILL ? ChildEnd::out_of_memory : ChildEnd::crashed;
        outcome.detail = signal == SIGKILL ? "killed by another process, for example for lack of memory"
                                           : fmt::format("signal {} ({})", signal, strsignal(signal));
    } else if (WEXITSTATUS(status) == kMemoryExit) {
        outcome.end = ChildEnd::out_of_memory;
        outcome.detail = "an allocation failed";
    } else if (WEXITSTATUS(status) != 0) {
        outcome.end = ChildEnd::failed;
        outcome.detail = fmt::format("exit code {}", WEXITSTATUS(status));
    }
    return outcome;
}

// As waitpid, but a child without a status counts as failed.
pid_t wait_for(pid_t child, int *status, int options = 0) {
    pid_t ended;
    do {
        ended = waitpid(child, status, options);
    } while (ended < 0 && errno == EINTR);
    if (ended >= 0) return ended;
    *status = W_EXITCODE(kFailedExit, 0);
    return child;
}

bool read_record(int descriptor, Record *record) {
    auto *next = reinterpret_cast<char *>(record);
    std::size_t missing = sizeof *record;
    while (missing > 0) {
        const ssize_t count = read(descriptor, next, missing);
        if (count == 0 || (count < 0 && errno != EINTR)) return false;
        if (count > 0) next += count, missing -= static_cast<std::size_t>(count);
    }
    return true;
}

std::string last_line(const std::string &path) {
    std::ifstream file(path);
    std::string last;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty()) last = line;
    }
    return cut_text(last, kLongestLogLine);
}

}  // namespace

void RecordSender::send(const Record &record) const {
    if (write(descriptor_, &record, sizeof record) != static_cast<ssize_t>(sizeof record)) _exit(kFailedExit);
}

ChildOutcome run_in_child(const ChildLimits &limits, const std::function<void(const RecordSender &)> &body,
                          const std::function<void(const Record &)> &on_record, const StopRequested &stop_requested) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("no new pipe: {}", std::strerror(errno)));
    const double start = wall_seconds();
    const pid_t parent = getpid(), child = fork_or_throw();
    if (child == 0) {
        close(ends[0]);
        become_child(parent, limits, "/dev/null");
        std::set_new_handler([] { _exit(kMemoryExit); });  // without unwinding
        int code = 0;
        try {
            body(RecordSender(ends[1]));
        } catch (...) {
            code = kFailedExit;
        }
        _exit(code);
    }
    setpgid(child, child);
    close(ends[1]);
    ChildEnd killed = ChildEnd::finished;
    for (double heard = start; killed == ChildEnd::finished;) {
        pollfd descriptor = {ends[0], POLLIN, 0};
        if (poll(&descriptor, 1, kPollMilliseconds) > 0) {
            Record record;
            if (!read_record(ends[0], &record)) break;
            heard = wall_seconds();
            on_record(record);
        } else if (wall_seconds() - heard > limits.silent_seconds) {
            killed = ChildEnd::timed_out;
        }
        if (stop_requested()) killed = ChildEnd::interrupted;
    }
    // Kills also what the child has started.
    if (killed != ChildEnd::finished) kill_group(child);
    int status = 0;
    wait_for(child, &status);
    kill(-child, SIGKILL);
    close(ends[0]);
    ChildOutcome outcome = outcome_of(status);
    if (killed != ChildEnd::finished) {
        outcome.end = killed;
        outcome.detail = killed == ChildEnd::timed_out ? fmt::format("silent for {:g} s", limits.silent_seconds) : "";
    }
    outcome.seconds = wall_seconds() - start;
    return outcome;
}

ChildProgram::ChildProgram(const std::vector<std::string> &command, const ChildLimits &limits, const std::string &log)
    : start_(wall_seconds()), time_limit_(limits.silent_seconds), log_(log) {
    std::vector<char *> arguments;
    for (const std::string &argument : command) arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    group_ = fork_or_throw();
    if (group_ == 0) {
        become_child(parent, limits, log_.c_str());
        execvp(arguments[0], arguments.data());
        fmt::print(stderr, "{}: {}\n", arguments[0], std::strerror(errno));
        std::fflush(stderr);
        _exit(kNoProgramExit);
    }
    setpgid(group_, group_);
}

ChildProgram::~ChildProgram() {
    if (running_) {
        int status = 0;
        kill_group(group_);
        wait_for(group_, &status);
    }
}

bool ChildProgram::ended() {
    if (!running_) return true;
    int status = 0;
    const double seconds = wall_seconds() - start_;
    if (wait_for(group_, &status, WNOHANG) == group_) {
        outcome_ = outcome_of(status);
        if (outcome_.end != ChildEnd::finished) {
            const std::string line = last_line(log_);
            if (line.find("bad_alloc") != std::string::npos || line.find("out of memory") != std::string::npos)
                outcome_.end = ChildEnd::out_of_memory;
            if (!line.empty()) outcome_.detail += ": " + line;
        }
    } else if (seconds > time_limit_) {
        kill_group(group_);
        wait_for(group_, &status);
        outcome_.end = ChildEnd::timed_out;
        outcome_.detail = fmt::format("not done after {:g} s", time_limit_);
    } else {
        return false;
    }
    kill(-group_, SIGKILL);
    running_ = false;
    outcome_.seconds = seconds;
    return true;
}

ChildOutcome run_program(const std::vector<std::string> &command, const ChildLimits &limits, const std::string &log) {
    ChildProgram program(command, limits, log);
    while (!program.ended()) usleep(5000);
    return program.outcome();
}

}  // namespace flashwright
