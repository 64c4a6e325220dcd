// The library's own threads.
#pragma once

#include <cstdint>

namespace flashwright {

// Calls work(context, worker) for worker 0 on the calling thread and for some of 1 to workers - 1 on threads of a pool
// that is made at need, and returns when all that were begun have ended. Workers share out their work among themselves,
// so it does not matter how many of them run: when the pool is in use by another call, or no thread can be made, worker
// 0 does all. After fork the child makes threads of its own.
void run_on_threads(std::int64_t workers, void (*work)(void *context, std::int64_t worker), void *context);

}  // namespace flashwright
