// The first CUDA device, used through the driver, which is loaded at run time. Only child processes use it: a process
// that has used CUDA must not fork.
#pragma once

#include "support/child_process.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace flashwright {

struct CudaDevice {
    std::string name;
    std::string compute_capability;          // 9.0
    std::string driver;                      // the CUDA version it supports, as 12.4
    int multiprocessors = 0, clock_mhz = 0;  // the maximum clock, as the driver reports it
};

// No CUDA driver is installed.
struct NoCudaDriver : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A context and a stream. Its functions throw std::runtime_error with the driver's message. Nothing is released: the
// process ends first.
class CudaSession {
 public:
    CudaSession();

    CudaDevice device() const;
    void *context() const { return context_; }
    void *stream() const { return stream_; }

    std::uint64_t allocate(std::size_t bytes) const;
    // Synchronous.
    void send(std::uint64_t to, const void *from, std::size_t bytes) const;
    void fetch(void *to, std::uint64_t from, std::size_t bytes) const;
    // Seconds that the device needs for the work that `work` enqueues in the stream, measured by events.
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

struct DeviceSearch {
    std::optional<CudaDevice> device;
    std::string reason;   // why there is none
    bool failed = false;  // a driver is installed but gave no device
};

// Looks for a device in a child process.
DeviceSearch find_cuda_device(const StopRequested &stop_requested);

}  // namespace flashwright
