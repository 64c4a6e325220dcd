// Differences between operating systems and processors.
#pragma once

// WebAssembly without threads has no <thread>: every call then runs in the caller's thread.
#if defined(__wasm__) && !defined(_REENTRANT)
#define FLASHWRIGHT_HAS_THREADS 0
#else
#define FLASHWRIGHT_HAS_THREADS 1
#endif

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#endif

namespace flashwright {

// The number of processors that this process may use, at least 1.
int usable_processors();

// For a waiting thread: relax() frees execution units for the core's other hardware thread, yield() lets another thread
// run.
void relax();
void yield();

// Registers `function` to be called in the child after every fork. Does nothing on systems without fork.
bool call_after_fork(void (*function)());

// Blocks all signals in the calling thread during its lifetime. Threads started in that time never get signals, which
// are the application's.
class SignalsBlocked {
 public:
    SignalsBlocked();
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;
    ~SignalsBlocked();

 private:
#if (defined(__unix__) || defined(__APPLE__)) && FLASHWRIGHT_HAS_THREADS
    sigset_t before_;
#endif
};

}  // namespace flashwright
