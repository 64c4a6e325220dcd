#include "scratch.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <limits>
#include <new>

#include "kernels/dtype_dispatch.h"
#include "status.h"
#include "tensor_view.h"

namespace flashwright {
namespace {

std::atomic<std::uint64_t> overflows{0};

bool round_up(std::uint64_t bytes, std::uint64_t *rounded) {
    if (__builtin_add_overflow(bytes, kScratchAlignment - 1, rounded)) return false;
    *rounded -= *rounded % kScratchAlignment;
    return true;
}

}  // namespace

// Precedes a block from operator new and keeps it aligned.
struct alignas(kScratchAlignment) Scratch::Overflow {
    Overflow *next;
};

void *Scratch::allocate(std::uint64_t bytes) {
    std::uint64_t needed;
    if (!round_up(bytes, &needed)) return nullptr;
    const bool fits = needed <= capacity_ - std::min(used_, capacity_);
    char *block = nullptr;
    if (fits) {
        block = memory_ + used_;
    } else {
        void *memory = ::operator new (static_cast<std::size_t>(needed) + sizeof(Overflow),
                                       std::align_val_t{kScratchAlignment}, std::nothrow);
        if (memory == nullptr) return nullptr;
        overflow_ = new (memory) Overflow{overflow_};
        block = reinterpret_cast<char *>(overflow_ + 1);
        overflows.fetch_add(1, std::memory_order_relaxed);
    }
    used_ += needed;
    return block;
}

void Scratch::free(void *block) {
    const auto position = reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(memory_);
    // A block from operator new is freed by reset().
    if (position < capacity_) used_ = position;
}

void Scratch::reset() {
    used_ = 0;
    while (overflow_ != nullptr) {
        Overflow *next = overflow_->next;
        ::operator delete (overflow_, std::align_val_t{kScratchAlignment});
        overflow_ = next;
    }
}

std::uint64_t scratch_overflows() { return overflows.load(std::memory_order_relaxed); }

ScratchReservation::~ScratchReservation() {
    if (memory_ == nullptr) return;
    if (execution_.deallocate != nullptr) {
        execution_.deallocate(execution_.memory_context, memory_, bytes_);
    } else {
        ::operator delete (memory_, std::align_val_t{kScratchAlignment});
    }
}

flashwright_status ScratchReservation::reserve(const flashwright_execution &execution, std::int64_t workers,
                                               std::uint64_t bytes_per_worker) {
    std::uint64_t bytes;
    if (!round_up(bytes_per_worker, &bytes_per_worker) ||
        __builtin_mul_overflow(bytes_per_worker, static_cast<std::uint64_t>(workers), &bytes) || bytes > PTRDIFF_MAX) {
        return make_status(FLASHWRIGHT_OUT_OF_MEMORY,
                           "working memory for %" PRId64 " threads: more than can be addressed", workers);
    }
    void *memory =
        execution.allocate != nullptr
            ? execution.allocate(execution.memory_context, static_cast<std::size_t>(bytes), kScratchAlignment)
            : ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{kScratchAlignment}, std::nothrow);
    if (memory == nullptr) {
        return make_status(FLASHWRIGHT_OUT_OF_MEMORY,
                           "working memory: %" PRIu64 " bytes for %" PRId64 " threads could not be allocated", bytes,
                           workers);
    }
    execution_ = execution;
    memory_ = static_cast<char *>(memory);
    bytes_per_worker_ = bytes_per_worker;
    bytes_ = static_cast<std::size_t>(bytes);
    if (reinterpret_cast<std::uintptr_t>(memory) % kScratchAlignment != 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "allocate: expected a block aligned to %zu bytes, got %p",
                           kScratchAlignment, memory);
    }
    return ok_status();
}

std::uint64_t scratch_bytes(const Kernel &kernel, std::int64_t head_dim, std::int64_t head_dim_v, std::int64_t block) {
    // Columns of block_q elements: transposed queries; state; scores, masks and weights of the longest block and their
    // product with V; transposed output. Twice that, for padding and staging.
    const std::int64_t columns =
        head_dim + 16 + head_dim_v + 20 + 3 * (block + kernel.tiles.tile_k) + 2 * (head_dim_v + 16);
    const auto element = static_cast<std::uint64_t>(element_bytes(accumulation_dtype(kernel.dtype)));
    constexpr std::uint64_t kFixed = 0x10000;
    std::uint64_t bytes;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(columns), 2 * element, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(kernel.tiles.block_q), &bytes) ||
        __builtin_add_overflow(bytes, kFixed, &bytes)) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return bytes;
}

}  // namespace flashwright

extern "C" void *flashwright_scratch_allocate(void *user_context, std::uint64_t bytes) {
    return static_cast<flashwright::Scratch *>(user_context)->allocate(bytes);
}

extern "C" int flashwright_scratch_free(void *user_context, void *block) {
    static_cast<flashwright::Scratch *>(user_context)->free(block);
    return 0;
}
