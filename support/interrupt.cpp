#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace flashwright {
namespace {

std::atomic<int> requested{0};  // the signal
std::atomic<int> deferrals{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only use lock-free atomics");

[[noreturn]] void exit_interrupted() { _exit(128 + requested); }

void on_interrupt(int signal) {
    requested = signal;
    if (deferrals == 0) {
        exit_interrupted();
    }
}

}  // namespace

void install_interrupt_handler() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool interrupt_requested() { return requested != 0; }

DeferInterrupt::DeferInterrupt() { ++deferrals; }

DeferInterrupt::~DeferInterrupt() {
    if (--deferrals == 0 && requested != 0) {
        exit_interrupted();
    }
}

}  // namespace flashwright
