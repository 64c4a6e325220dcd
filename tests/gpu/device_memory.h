// Contexts, streams and device memory by the functions of libcuda.so.1, be it a driver's or the fake one.
#pragma once

#include "tests/support/gradient.h"

#include <flashwright/flashwright_gpu.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace flashwright::test {

// A context, current in this thread while the object lives.
class Context {
 public:
    Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;
    ~Context();
    void *handle() const { return handle_; }

 private:
    void *handle_ = nullptr;
};

// Of the context that is current.
class Stream {
 public:
    Stream();
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream();
    void *handle() const { return handle_; }
    void wait() const;

 private:
    void *handle_ = nullptr;
};

// Tensors moved there, gaps between their elements too. With a context that is current.
class DeviceMemory {
 public:
    DeviceMemory() = default;
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;
    ~DeviceMemory();

    // Where the tensor is in device memory, with what it holds; a tensor that is not given or is empty stays as it is.
    flashwright_tensor move(const flashwright_tensor &tensor);
    const flashwright_tensor *move(const flashwright_tensor *tensor);
    // The arguments of a problem with its tensors moved.
    flashwright_forward_args arguments(Problem &problem);
    flashwright_backward_args arguments(GradientProblem &problem);
    // All of them to where they came from.
    void bring_back() const;
    std::size_t largest() const;  // tensor, in bytes

 private:
    struct Moved {
        char *host;
        std::uint64_t address;
        std::size_t bytes;
    };
    std::vector<Moved> moved_;
    std::vector<std::unique_ptr<flashwright_tensor>> views_;
};

}  // namespace flashwright::test
