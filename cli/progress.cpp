#include "progress.h"

#include "message.h"

#include <fmt/format.h>
#include <unistd.h>

namespace flashwright {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::step(const std::string &text) {
    step_ = text;
    if (terminal_) {
        show(text);
    } else {
        print_message(text + "\n");
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

// Returns to the start of the line and erases it.
void Progress::show(const std::string &line) { print_message("\r\x1b[K" + line); }

}  // namespace flashwright
