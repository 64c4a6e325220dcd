#include "machine_peak.h"

#include "kernels/dtype_dispatch.h"
#include "kernels/isa.h"
#include "machine_info.h"
#include "statistics.h"
#include "support/clocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace flashwright {
namespace {

// Keeps what a loop computes alive.
void keep(const void *value) { asm volatile("" : : "r"(value) : "memory"); }

// Independent sums hide the latency of the operation. With the two operands they fill the registers but do not exceed
// them. s = s / 2 + 1 stays near 2 forever. The empty assembler text makes the starting values unknown to the compiler,
// which would otherwise find that all sums are equal.
template <typename Vector, int kSums>
[[gnu::always_inline]] inline void multiply_add(std::int64_t iterations) {
    const Vector half = Vector{} + 0.5f, one = Vector{} + 1.0f;
    Vector sums[kSums] = {};
    asm volatile("" : "+m"(sums));
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 24
        for (Vector &sum : sums) {
            sum = sum * half + one;
        }
    }
    keep(sums);
}

using F32x4 = float __attribute__((vector_size(16)));
using F64x2 = double __attribute__((vector_size(16)));
constexpr int kSums128 = 12;
void run_f32x4(std::int64_t iterations) { multiply_add<F32x4, kSums128>(iterations); }
void run_f64x2(std::int64_t iterations) { multiply_add<F64x2, kSums128>(iterations); }

#if defined(__x86_64__)
using F32x8 = float __attribute__((vector_size(32)));
using F64x4 = double __attribute__((vector_size(32)));
using F32x16 = float __attribute__((vector_size(64)));
using F64x8 = double __attribute__((vector_size(64)));
constexpr int kSums256 = 12, kSums512 = 24;
[[gnu::target("avx2,fma")]] void run_f32x8(std::int64_t iterations) { multiply_add<F32x8, kSums256>(iterations); }
[[gnu::target("avx2,fma")]] void run_f64x4(std::int64_t iterations) { multiply_add<F64x4, kSums256>(iterations); }
[[gnu::target("avx512f")]] void run_f32x16(std::int64_t iterations) { multiply_add<F32x16, kSums512>(iterations); }
[[gnu::target("avx512f")]] void run_f64x8(std::int64_t iterations) { multiply_add<F64x8, kSums512>(iterations); }
#endif

// Two streams keep more pages of the memory open than one. Four were slower than either.
void read_all(const std::byte *begin, std::size_t bytes) {
    using Words = std::uint64_t __attribute__((vector_size(16), may_alias));
    const auto *front = reinterpret_cast<const Words *>(begin);
    const auto *back = reinterpret_cast<const Words *>(begin + bytes / 2);
    Words sums[8] = {};
    for (std::size_t i = 0; i < bytes / 2 / sizeof(Words); i += 4) {
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < 4; ++lane) {
            sums[lane] ^= front[i + lane];
            sums[4 + lane] ^= back[i + lane];
        }
    }
    keep(sums);
}

// Runs work(thread) on all threads at once; the time from the first start to the last end.
template <typename Work>
double time_on_threads(int threads, Work work) {
    if (threads == 1) {
        return time_of(1, [&] { work(0); });
    }
    std::atomic<int> waiting{threads};
    std::vector<double> starts(static_cast<std::size_t>(threads)), ends(starts);
    std::vector<std::thread> pool;
    pool.reserve(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
        pool.emplace_back([&, thread] {
            --waiting;
            while (waiting > 0) {
                std::this_thread::yield();
            }
            starts[static_cast<std::size_t>(thread)] = wall_seconds();
            work(thread);
            ends[static_cast<std::size_t>(thread)] = wall_seconds();
        });
    }
    for (std::thread &thread : pool) {
        thread.join();
    }
    return *std::max_element(ends.begin(), ends.end()) - *std::min_element(starts.begin(), starts.end());
}

std::size_t bandwidth_buffer_bytes() {
    return static_cast<std::size_t>(std::max<std::int64_t>(4 * last_cache_bytes(), 256 << 20));
}

}  // namespace

struct FmaPeak::Loop {
    int vector_bits;
    flashwright_dtype dtype;
    void (*run)(std::int64_t iterations);
    int flops_per_iteration;
};

// Rows of isa.h with 256 or 512 bits have fused multiply-adds on x86.
FmaPeak::FmaPeak(const std::string &isa, flashwright_dtype dtype, int threads) : threads_(threads) {
    static constexpr Loop kLoops[] = {
#if defined(__x86_64__) || defined(__aarch64__)
        {128, FLASHWRIGHT_F32, run_f32x4, kSums128 * 4 * 2},
        {128, FLASHWRIGHT_F64, run_f64x2, kSums128 * 2 * 2},
#endif
#if defined(__x86_64__)
        {256, FLASHWRIGHT_F32, run_f32x8, kSums256 * 8 * 2},
        {256, FLASHWRIGHT_F64, run_f64x4, kSums256 * 4 * 2},
        {512, FLASHWRIGHT_F32, run_f32x16, kSums512 * 16 * 2},
        {512, FLASHWRIGHT_F64, run_f64x8, kSums512 * 8 * 2},
#endif
    };
    const Isa *row = find_isa(isa);
    loop_ = std::find_if(std::begin(kLoops), std::end(kLoops), [&](const Loop &loop) {
        return row != nullptr && row->vector_bits == loop.vector_bits && accumulation_dtype(dtype) == loop.dtype;
    });
    if (loop_ == std::end(kLoops)) {
        throw std::invalid_argument("no peak measurement for ISA " + isa);
    }
    // Doubled until a burst takes a millisecond. The first bursts also wake up the wide units.
    for (iterations_ = 1 << 12; time_of(1, [&] { loop_->run(iterations_); }) < 1e-3; iterations_ *= 2) {
    }
}

void FmaPeak::sample() {
    seconds_.push_back(time_on_threads(threads_, [this](int) { loop_->run(iterations_); }));
}

double FmaPeak::gflops() const {
    return 1e-9 * threads_ * loop_->flops_per_iteration * static_cast<double>(iterations_) / quarter(seconds_);
}

ReadBandwidth::ReadBandwidth(int threads) : threads_(threads), buffer_(nullptr, Unmap{bandwidth_buffer_bytes()}) {
    const std::size_t bytes = buffer_.get_deleter().bytes;
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        throw std::bad_alloc();
    }
    buffer_.reset(static_cast<std::byte *>(pages));
    madvise(pages, bytes, MADV_HUGEPAGE);  // small pages cost up to a third, and then measure the page walk
    std::memset(pages, 1, bytes);
}

void ReadBandwidth::sample() {
    const std::size_t part = buffer_.get_deleter().bytes / static_cast<std::size_t>(threads_) / 128 * 128;
    seconds_.push_back(time_on_threads(
        threads_, [&](int thread) { read_all(buffer_.get() + static_cast<std::size_t>(thread) * part, part); }));
}

double ReadBandwidth::gbytes_per_second() const {
    return 1e-9 * static_cast<double>(buffer_.get_deleter().bytes) / quarter(seconds_);
}

void ReadBandwidth::Unmap::operator()(std::byte *buffer) const { munmap(buffer, bytes); }

}  // namespace flashwright
