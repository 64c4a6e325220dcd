// The library's own threads.
#pragma once

#include <cstdint>

namespace flashwright {

// Calls work(context, worker) for worker 0 on the calling thread, and for some of 1 to workers - 1 on threads of a
// pool. Returns when all started workers have finished. Workers distribute the work among themselves, so any number of
// them may run: if another call uses the pool, or no thread can be created, worker 0 does everything. The pool is
// created on first use. After a fork the child creates its own.
void run_on_threads(std::int64_t workers, void (*work)(void *context, std::int64_t worker), void *context);

}  // namespace flashwright
