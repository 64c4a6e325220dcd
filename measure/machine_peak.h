// Measured limits of this machine: floating-point operations in registers, and bytes read from memory. They are sampled
// in bursts, so that a benchmark can take a sample after each of its repetitions: the clock of a CPU and the load of
// its neighbours change within seconds.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flashwright {

// Multiplications and additions per second on `threads` threads at once, in the type that a dtype's sums have and with
// vectors as wide as an ISA's. They are fused, except on x86 with vectors of 128 bits.
class FmaPeak {
 public:
    FmaPeak(const std::string &isa, flashwright_dtype dtype, int threads);  // throws for an unknown ISA
    void sample();          // a burst of about a millisecond on each thread
    double gflops() const;  // of all threads together, at the 25th percentile of the samples' times

 private:
    struct Loop;
    const Loop *loop_;
    int threads_;
    std::int64_t iterations_;
    std::vector<double> seconds_;
};

// Bytes per second. Each thread reads its own part, in order, of a buffer that is far larger than the last cache.
class ReadBandwidth {
 public:
    explicit ReadBandwidth(int threads);
    void sample();  // one read of the whole buffer
    double gbytes_per_second() const;

 private:
    struct Unmap {
        std::size_t bytes;
        void operator()(std::byte *buffer) const;
    };
    int threads_;
    std::unique_ptr<std::byte[], Unmap> buffer_;
    std::vector<double> seconds_;
};

}  // namespace flashwright
