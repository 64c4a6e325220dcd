// State that the tasks of one backward call share: sizes, values for every query row, progress of every chunk of keys.
#pragma once

#include <atomic>
#include <cstdint>

#include "kernel_abi.h"
#include "scratch.h"
#include "validate.h"

namespace flashwright {

// Sizes that do not depend on the number of threads.
struct BackwardSizes {
    BackwardSizes(const BackwardProblem &problem, const Kernel &kernel);

    std::int64_t width, tile_q;          // of a register tile: keys or channels, and queries
    std::int64_t edge_rows;              // queries of a kernel call for a tile that is partly masked by position
    std::int64_t block_q, block_k;       // queries and keys of a kernel call, multiples of a register tile
    std::int64_t head_dim, head_dim_v;   // padded to multiples of a register tile
    std::int64_t rows, blocks;           // padded query rows of a head; their blocks of block_q
    std::int64_t chunks;                 // of block_k keys; at least 1
    std::int64_t chains;                 // sets of key heads whose dQ updates depend on each other
    std::int64_t chain_heads;            // key heads of one chain
    std::int64_t element;                // bytes of a sum, of lse and of delta
    bool sums_apart;                     // dQ and dbias are added up beside the tensors, whose elements are narrower
    std::uint64_t worker_bytes() const;  // working memory of one thread
    std::uint64_t shared_bytes(const BackwardProblem &problem) const;
};

class BackwardState {
 public:
    BackwardState(const BackwardProblem &problem, const BackwardSizes &sizes) : problem_(problem), sizes_(sizes) {}
    flashwright_status reserve(const flashwright_execution &execution);

    // Values of all rows of a head. Those of a block are valid once chunk 0 has passed it.
    template <typename T>
    T *lse(std::int64_t batch, std::int64_t head) const {
        // cppcheck-suppress invalidPointerCast ; the arena is memory, not characters
        return reinterpret_cast<T *>(memory_.arena(0)) + (batch * problem_.forward.heads + head) * sizes_.rows;
    }
    template <typename T>
    T *delta(std::int64_t batch, std::int64_t head) const {
        return lse<T>(batch, head) + problem_.forward.batch * problem_.forward.heads * sizes_.rows;
    }
    // Whether all values of Q and dO in a block are finite.
    bool &finite(std::int64_t batch, std::int64_t head, std::int64_t block) const {
        return finite_[(batch * problem_.forward.heads + head) * sizes_.blocks + block];
    }

    // Where the sums of dQ and dbias are: the tensors, or memory in their shapes.
    const StridedTensor &dq() const { return dq_; }
    const StridedTensor &dbias() const { return dbias_; }

    // Every chunk goes over the blocks of its chain in order. It may add to the dQ of a block after the previous chunk
    // has.
    void wait_for_turn(std::int64_t chain, std::int64_t chunk, std::int64_t position) const;
    void passed(std::int64_t chain, std::int64_t chunk, std::int64_t position) const {
        progress_[chain * sizes_.chunks + chunk].store(position + 1, std::memory_order_release);
    }

 private:
    const BackwardProblem &problem_;
    const BackwardSizes &sizes_;
    ScratchReservation memory_;
    StridedTensor dq_, dbias_;
    std::atomic<std::int64_t> *progress_ = nullptr;  // blocks that each chunk has passed
    bool *finite_ = nullptr;
};

}  // namespace flashwright
