#include "platform.h"

#if FLASHWRIGHT_HAS_THREADS
#include <algorithm>
#include <thread>
#endif
#if defined(__linux__)
#include <sched.h>
#endif
#if (defined(__unix__) || defined(__APPLE__)) && FLASHWRIGHT_HAS_THREADS
#define FLASHWRIGHT_HAS_POSIX_THREADS 1
#include <pthread.h>
#endif

#if defined(__MINGW32__)
// What Microsoft's C library has for every object that computes with floating point, as the kernels do.
extern "C" __attribute__((weak)) int _fltused = 0;
#endif

namespace flashwright {

int usable_processors() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
#endif
#if FLASHWRIGHT_HAS_THREADS
    return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
#else
    return 1;
#endif
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

void yield() {
#if FLASHWRIGHT_HAS_THREADS
    std::this_thread::yield();
#endif
}

#if defined(FLASHWRIGHT_HAS_POSIX_THREADS)
bool call_after_fork(void (*function)()) { return pthread_atfork(nullptr, nullptr, function) == 0; }

SignalsBlocked::SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
#else
bool call_after_fork(void (*)()) { return true; }

SignalsBlocked::SignalsBlocked() {}
SignalsBlocked::~SignalsBlocked() {}
#endif

}  // namespace flashwright
