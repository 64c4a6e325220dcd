#include "interpreter_process.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

InterpreterProcess::InterpreterProcess(const std::string &command, int memory) {
    std::signal(SIGPIPE, SIG_IGN);  // should it be gone, a launch fails
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        const std::string whole = "exec " + command + " /proc/self/fd/" + std::to_string(memory);
        execl("/bin/sh", "sh", "-c", whole.c_str(), nullptr);
        _exit(127);
    }
    close(ends[1]);
    socket_ = fdopen(ends[0], "r+");
}

bool InterpreterProcess::run(const Launch &launch, std::uint64_t base) {
    std::fprintf(socket_, "%zu", launch.ptx.size());
    for (const auto &counts : {launch.blocks, launch.threads}) {
        for (int n = 0; n < 3; ++n) std::fprintf(socket_, " %u", counts[n]);
    }
    for (std::size_t n = 0; n < launch.arguments.size(); ++n) {
        const bool is_address = launch.argument_bytes[n] == 8;
        std::fprintf(socket_, " %llu", static_cast<unsigned long long>(launch.arguments[n] - (is_address ? base : 0)));
    }
    std::fputc('\n', socket_);
    std::fwrite(launch.ptx.data(), 1, launch.ptx.size(), socket_);
    std::fflush(socket_);
    std::rewind(socket_);
    char answer[8] = "";
    return std::fgets(answer, sizeof answer, socket_) != nullptr && answer[0] == 'd';
}
