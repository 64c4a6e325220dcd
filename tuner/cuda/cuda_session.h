// The first CUDA device, by the driver, which is loaded at run time: what measuring needs besides the library's calls.
// Only in a child process: one that has used CUDA must not fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace flashwright {

struct CudaDevice {
    std::string name;
    std::string compute_capability;          // 9.0
    std::string driver;                      // the CUDA version that it serves, as 12.4
    int multiprocessors = 0, clock_mhz = 0;  // the clock that the driver names, which is the highest
};

// No driver that could fail is installed.
struct NoCudaDriver : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A context and a stream of its own. All functions throw std::runtime_error with the driver's words. Nothing is given
// back: the process ends first.
class CudaSession {
 public:
    CudaSession();

    CudaDevice device() const;
    void *context() const { return context_; }
    void *stream() const { return stream_; }

    std::uint64_t allocate(std::size_t bytes) const;
    // Complete when they return.
    void send(std::uint64_t to, const void *from, std::size_t bytes) const;
    void fetch(void *to, std::uint64_t from, std::size_t bytes) const;
    // Seconds of what `work` puts into the stream, by events around it.
    double time_of(const std::function<void()> &work) const;

 private:
    template <typename... Parameters>
    void drive(const char *name, Parameters... parameters) const;
    void wait() const;
    void *function(const char *name) const;
    int attribute(int which) const;

    void *library_;
    int device_ = 0;
    void *context_ = nullptr, *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace flashwright
