// The two clocks of the measurements: CPU time of this thread, which excludes other programs, and wall time, which is
// the only choice for several threads.
#pragma once

#include <time.h>

namespace flashwright {

inline double seconds_of(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
inline double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

// Time of `work` on `threads` threads. It starts further threads itself.
template <typename Work>
double time_of(int threads, Work work) {
    const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const double start = seconds_of(clock);
    work();
    return seconds_of(clock) - start;
}

}  // namespace flashwright
