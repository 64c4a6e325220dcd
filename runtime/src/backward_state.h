// What the tasks of one backward call share: sizes, values of every query row, and how far each chunk of keys has come.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel_abi.h"
#include "scratch.h"
#include "validate.h"

namespace flashwright {

// Everything that does not depend on threads.
struct GradientSizes {
    GradientSizes(const BackwardProblem &problem, const Kernel &kernel);

    std::int64_t width, tile_q;          // of a register tile
    std::int64_t edge_rows;              // queries of a call where an edge of what is seen runs through
    std::int64_t block_q, block_k;       // queries and keys of a kernel call, whole register tiles
    std::int64_t head_dim, head_dim_v;   // padded to whole register tiles
    std::int64_t rows, blocks;           // padded query rows of a head; its blocks of block_q
    std::int64_t chunks;                 // of block_k keys; at least 1
    std::int64_t strands;                // key heads whose tasks depend on each other
    std::int64_t strand_heads;           // key heads in one strand
    std::int64_t element;                // bytes of a sum, of lse and of delta
    std::uint64_t worker_bytes() const;  // working memory of one thread
    std::uint64_t shared_bytes(const BackwardProblem &problem) const;
};

class GradientState {
 public:
    GradientState(const BackwardProblem &problem, const GradientSizes &sizes) : problem_(problem), sizes_(sizes) {}
    flashwright_status reserve(const flashwright_execution &execution);

    // Of all rows of a head; valid for blocks that chunk 0 has passed.
    template <typename T>
    T *lse(std::int64_t batch, std::int64_t head) const {
        // cppcheck-suppress invalidPointerCast ; the arena is memory, not characters
        return reinterpret_cast<T *>(memory_.arena(0)) + (batch * problem_.forward.heads + head) * sizes_.rows;
    }
    template <typename T>
    T *delta(std::int64_t batch, std::int64_t head) const {
        return lse<T>(batch, head) + problem_.forward.batch * problem_.forward.heads * sizes_.rows;
    }
    // Whether Q and dO of a block are finite.
    bool &finite(std::int64_t batch, std::int64_t head, std::int64_t block) const {
        return finite_[(batch * problem_.forward.heads + head) * sizes_.blocks + block];
    }

    // A chunk goes over the blocks of its strand in order, and may add to a block's dQ when the chunk before it has.
    void wait_for_turn(std::int64_t strand, std::int64_t chunk, std::int64_t position) const;
    void passed(std::int64_t strand, std::int64_t chunk, std::int64_t position) const {
        progress_[strand * sizes_.chunks + chunk].store(position + 1, std::memory_order_release);
    }

 private:
    const BackwardProblem &problem_;
    const GradientSizes &sizes_;
    ScratchReservation memory_;
    std::atomic<std::int64_t> *progress_ = nullptr;  // blocks that each chunk has passed
    bool *finite_ = nullptr;
};

}  // namespace flashwright
