// What calls on a stream of the caller's need of a driver beside Halide's runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flashwright {

// Functions give Halide's error codes and keep the driver's words in the call, whose context they are given.
struct GpuStreamDriver {
    // Halide's runtime then takes context and stream from each call that has them. Once, before anything runs.
    void (*install)();
    // The context that is current in this thread, or NULL.
    int (*current_context)(void *call, void **context);

    // For a call on a stream: its context becomes current, and what was current before.
    int (*enter)(void *call);
    void (*leave)(void *call);
    // Between them, in the order of the stream; they wait for nothing.
    int (*allocate)(void *call, std::size_t bytes, std::uint64_t *address);
    int (*deallocate)(void *call, std::uint64_t address);
    // Host memory may change as soon as it returns.
    int (*send)(void *call, std::uint64_t address, const void *host, std::size_t bytes);
};

}  // namespace flashwright
