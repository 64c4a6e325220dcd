#include "commands.h"
#include "flashwright/flashwright.h"
#include "support/interrupt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace flashwright {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

int fail(const char *message) {
    std::fprintf(stderr, "error: %s\n", message);  // needs no memory and never throws
    return kFailed;
}

// Keeps a standard stream that the caller has closed from becoming the first file that is opened.
void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) < 0) {
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest free number
        }
    }
}

int run_program(int argc, char **argv) {
    CLI::App app("Exact attention kernels, generated and tuned for the machine they run on.", "flashwright");
    app.set_version_flag("--version", flashwright_version());
    app.require_subcommand(1);
    app.footer("Example:\n  flashwright run forward --q q.npy --k k.npy --v v.npy --out out.npy --causal --verify");
    // For an unknown command, CLI11 only says that a command is missing.
    app.failure_message([](const CLI::App *program, const CLI::Error &error) {
        const std::vector<std::string> unknown = program->remaining(true);
        return fmt::format("error: {}\nRun with --help for more information.\n",
                           unknown.empty() ? error.what() : fmt::format("not expected: {}", unknown.front()));
    });
    CLI::App *run = app.add_subcommand("run", "Run one operation on .npy files");
    run->require_subcommand(1);
    run->footer("Example:\n  flashwright run merge --help");
    add_run_forward(*run);
    add_run_backward(*run);
    add_run_merge(*run);
    add_run_step(*run);
    add_bench(app);
    add_info(app);
    add_tune(app);
    add_replay(app);
    add_report(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : kWrongCommandLine;
    }
    return 0;
}

}  // namespace
}  // namespace flashwright

int main(int argc, char **argv) {
    flashwright::occupy_standard_streams();
    flashwright::install_interrupt_handler();
    std::signal(SIGCHLD, SIG_DFL);  // if the caller ignores it, the exit status of children is lost
    int code;
    try {
        code = flashwright::run_program(argc, argv);
    } catch (const std::bad_alloc &) {
        code = flashwright::fail("out of memory");
    } catch (const std::exception &error) {
        code = flashwright::fail(error.what());
    }
    if (std::fflush(stdout) != 0 && code == 0) {
        code = flashwright::fail(fmt::format("standard output: {}", std::strerror(errno)).c_str());
    }
    if (std::ferror(stdout) != 0 && code == 0)
        code = flashwright::fail("standard output: could not be written completely");
    return code;
}
