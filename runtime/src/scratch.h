// Working memory of kernels: one arena per worker, reserved before a call writes any output.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>

#include "kernel_abi.h"

namespace flashwright {

inline constexpr std::size_t kScratchAlignment = 128;

// A stack allocator for one kernel call after the other, in memory that it does not own. If a kernel needs more than
// was reserved, the reservation has a bug: the block then comes from operator new, and scratch_overflows() counts it.
class Scratch {
 public:
    Scratch(char *memory, std::uint64_t bytes) : memory_(memory), capacity_(bytes) {}
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch() { reset(); }

    void *allocate(std::uint64_t bytes);
    // Frees `block` and all blocks allocated after it.
    void free(void *block);
    void reset();

 private:
    struct Overflow;

    char *memory_;
    std::uint64_t capacity_;
    std::uint64_t used_ = 0;
    Overflow *overflow_ = nullptr;
};

// Number of blocks that came from operator new since the process started.
std::uint64_t scratch_overflows();

// The arenas of all workers of a call, from the caller's allocator or operator new.
class ScratchReservation {
 public:
    ScratchReservation() = default;
    ScratchReservation(const ScratchReservation &) = delete;
    ScratchReservation &operator=(const ScratchReservation &) = delete;
    ~ScratchReservation();

    flashwright_status reserve(const flashwright_execution &execution, std::int64_t workers,
                               std::uint64_t bytes_per_worker);
    char *arena(std::int64_t worker) const { return memory_ + static_cast<std::uint64_t>(worker) * bytes_per_worker_; }
    std::uint64_t bytes_per_worker() const { return bytes_per_worker_; }

 private:
    flashwright_execution execution_ = {};
    char *memory_ = nullptr;
    std::uint64_t bytes_per_worker_ = 0;
    std::size_t bytes_ = 0;
};

// Bytes that one task of a kernel may need, if its longest block has `block` keys; the largest value on overflow.
std::uint64_t scratch_bytes(const Kernel &kernel, std::int64_t head_dim, std::int64_t head_dim_v, std::int64_t block);

}  // namespace flashwright

// Kernels call these for temporary memory. user_context is the Scratch of their task.
extern "C" void *flashwright_scratch_allocate(void *user_context, std::uint64_t bytes);
extern "C" int flashwright_scratch_free(void *user_context, void *block);
