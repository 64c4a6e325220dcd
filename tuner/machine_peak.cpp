#include "machine_peak.h"

#include "clocks.h"
#include "machine_info.h"
#include "statistics.h"

#include <immintrin.h>
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

// In every loop below, `kChains` sums that do not depend on each other hide the latency of the operation, and with the
// two operands they fill but do not exceed the registers. s = s / 2 + 1 stays near 2 forever. The empty assembler text
// makes the starting values unknown to the compiler, which would otherwise see that all chains are the same.
constexpr int kChains = 12;
constexpr int kChains512 = 24;

void sse_f32(std::int64_t iterations) {
    const __m128 half = _mm_set1_ps(0.5f), one = _mm_set1_ps(1);
    __m128 sums[kChains] = {};
#pragma GCC unroll 12
    for (__m128 &sum : sums) {
        asm volatile("" : "+x"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
        for (__m128 &sum : sums) {
            sum = _mm_add_ps(_mm_mul_ps(sum, half), one);
        }
    }
    keep(sums);
}

void sse_f64(std::int64_t iterations) {
    const __m128d half = _mm_set1_pd(0.5), one = _mm_set1_pd(1);
    __m128d sums[kChains] = {};
#pragma GCC unroll 12
    for (__m128d &sum : sums) {
        asm volatile("" : "+x"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
        for (__m128d &sum : sums) {
            sum = _mm_add_pd(_mm_mul_pd(sum, half), one);
        }
    }
    keep(sums);
}

__attribute__((target("avx2,fma"))) void avx2_f32(std::int64_t iterations) {
    const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1);
    __m256 sums[kChains] = {};
#pragma GCC unroll 12
    for (__m256 &sum : sums) {
        asm volatile("" : "+x"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
        for (__m256 &sum : sums) {
            sum = _mm256_fmadd_ps(sum, half, one);
        }
    }
    keep(sums);
}

__attribute__((target("avx2,fma"))) void avx2_f64(std::int64_t iterations) {
    const __m256d half = _mm256_set1_pd(0.5), one = _mm256_set1_pd(1);
    __m256d sums[kChains] = {};
#pragma GCC unroll 12
    for (__m256d &sum : sums) {
        asm volatile("" : "+x"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
        for (__m256d &sum : sums) {
            sum = _mm256_fmadd_pd(sum, half, one);
        }
    }
    keep(sums);
}

__attribute__((target("avx512f"))) void avx512_f32(std::int64_t iterations) {
    const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1);
    __m512 sums[kChains512] = {};
#pragma GCC unroll 24
    for (__m512 &sum : sums) {
        asm volatile("" : "+v"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 24
        for (__m512 &sum : sums) {
            sum = _mm512_fmadd_ps(sum, half, one);
        }
    }
    keep(sums);
}

__attribute__((target("avx512f"))) void avx512_f64(std::int64_t iterations) {
    const __m512d half = _mm512_set1_pd(0.5), one = _mm512_set1_pd(1);
    __m512d sums[kChains512] = {};
#pragma GCC unroll 24
    for (__m512d &sum : sums) {
        asm volatile("" : "+v"(sum));
    }
    for (std::int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 24
        for (__m512d &sum : sums) {
            sum = _mm512_fmadd_pd(sum, half, one);
        }
    }
    keep(sums);
}

// In two streams, which keep more of the memory's pages open than one does; four were slower than either.
void read_all(const std::byte *begin, std::size_t bytes) {
    const auto *front = reinterpret_cast<const __m128i *>(begin);
    const auto *back = reinterpret_cast<const __m128i *>(begin + bytes / 2);
    __m128i sums[8] = {};
    for (std::size_t i = 0; i < bytes / 2 / sizeof(__m128i); i += 4) {
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < 4; ++lane) {
            sums[lane] = _mm_xor_si128(sums[lane], _mm_load_si128(front + i + lane));
            sums[4 + lane] = _mm_xor_si128(sums[4 + lane], _mm_load_si128(back + i + lane));
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
    const char *isa;
    void (*run)(std::int64_t iterations);
    flashwright_dtype dtype;
    int flops_per_iteration;
};

FmaPeak::FmaPeak(const std::string &isa, flashwright_dtype dtype, int threads) : threads_(threads) {
    static constexpr Loop kLoops[] = {
        {"baseline", sse_f32, FLASHWRIGHT_F32, kChains * 4 * 2},
        {"baseline", sse_f64, FLASHWRIGHT_F64, kChains * 2 * 2},
        {"sse41", sse_f32, FLASHWRIGHT_F32, kChains * 4 * 2},
        {"sse41", sse_f64, FLASHWRIGHT_F64, kChains * 2 * 2},
        {"avx2", avx2_f32, FLASHWRIGHT_F32, kChains * 8 * 2},
        {"avx2", avx2_f64, FLASHWRIGHT_F64, kChains * 4 * 2},
        {"avx512", avx512_f32, FLASHWRIGHT_F32, kChains512 * 16 * 2},
        {"avx512", avx512_f64, FLASHWRIGHT_F64, kChains512 * 8 * 2},
    };
    loop_ = std::find_if(std::begin(kLoops), std::end(kLoops),
                         [&](const Loop &loop) { return isa == loop.isa && dtype == loop.dtype; });
    if (loop_ == std::end(kLoops)) {
        throw std::invalid_argument("no peak measurement for ISA " + isa);
    }
    // Doubled until a burst takes a millisecond; the first ones also wake the wide units up.
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
