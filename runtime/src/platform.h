// What differs between operating systems and processors.
#pragma once

// WebAssembly without threads has no <thread> to include: every call runs in the caller's.
#if defined(__wasm__) && !defined(_REENTRANT)
#define FLASHWRIGHT_HAS_THREADS 0
#else
#define FLASHWRIGHT_HAS_THREADS 1
#endif

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#endif

namespace flashwright {

// The processors that this process may use, at least 1.
int usable_processors();

// A thread that waits: leaves the core's other thread the units; lets another thread have the processor.
void relax();
void yield();

// Has `function` called in the child of every fork, where there is such a thing.
bool call_after_fork(void (*function)());

// While it lives, the calling thread gets no signals, and the threads that it starts never will: they are the
// application's.
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
