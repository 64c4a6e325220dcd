// The functions of a driver that calls on a caller's stream need besides Halide's runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flashwright {

// The functions return Halide's error codes. They keep the driver's message in the call, whose context they are given.
struct GpuStreamDriver {
    // Makes Halide's runtime use the context and stream of each call that has them. To be called once, before any call.
    void (*install)();
    // The current context of this thread, or NULL.
    int (*current_context)(void *call, void **context);

    // For a call on a stream: `enter` makes its context current, `leave` restores the previous one.
    int (*enter)(void *call);
    void (*leave)(void *call);
    // To be called between these two. They are done in the order of the stream, without waiting.
    int (*allocate)(void *call, std::size_t bytes, std::uint64_t *address);
    int (*deallocate)(void *call, std::uint64_t address);
    // The host memory may be reused as soon as it returns.
    int (*send)(void *call, std::uint64_t address, const void *host, std::size_t bytes);
};

}  // namespace flashwright
