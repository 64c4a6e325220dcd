#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace flashwright {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::step(const std::string &text) {
    step_ = text;
    if (terminal_) {
        show(text);
    } else {
        fmt::print(stderr, "{}\n", text);
    }
}

void Progress::detail(const std::string &text) {
    if (terminal_) {
        show(fmt::format("{} {}", step_, text));
    }
}

void Progress::clear() {
    if (terminal_) {
        show("");
    }
}

// Back to the start of the line, and erases what was there before.
void Progress::show(const std::string &line) { fmt::print(stderr, "\r\x1b[K{}", line); }

}  // namespace flashwright
