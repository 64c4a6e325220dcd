// A CUDA driver for tests, libcuda.so.1, without a device: its memory is the host's, streams and contexts are handles
// that it does not look at, and it writes down every call. Kernels do nothing, or are run by the interpreter of
// tests/gpu/ptx where FAKE_CUDA_INTERPRETER is its command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace fake_cuda {

struct Call {
    std::string function;                  // as the driver's, without _v2
    void *context;                         // that was current
    void *stream = nullptr;                // of those that have one
    std::size_t bytes = 0;                 // copied or allocated
    std::string kernel = {};               // of a launch
    std::vector<std::uint64_t> args = {};  // of a launch, as bits
    std::thread::id thread = std::this_thread::get_id();
    bool failed = false;  // as a test wanted
};

// The one that is being captured into a graph.
inline void *const kCapturedStream = reinterpret_cast<void *>(0x6000);

std::vector<Call> calls();
// Forgets calls and failures.
void reset();
// The call after `skipped` others fails and does nothing else. cuCtxPopCurrent, cuGetErrorName and the function `but`
// neither fail nor count.
void fail_after(int skipped, int error, const std::string &but = "");
// Whether so many calls have not come yet.
bool failure_pending();
// What was allocated or loaded and not yet given back.
std::size_t living_allocations();
std::size_t living_modules();
// The innermost context that is current in this thread, and how many are below.
std::size_t context_depth();

}  // namespace fake_cuda
