#include "backward_state.h"

#include <algorithm>
#include <limits>
#include <new>

#include "kernels/dtype_dispatch.h"
#include "platform.h"
#include "status.h"

namespace flashwright {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Sums and products of sizes. They saturate instead of overflowing.
class Bytes {
 public:
    Bytes &add(std::int64_t a, std::int64_t b, std::int64_t c = 1) {
        std::int64_t product;
        overflow_ = overflow_ || __builtin_mul_overflow(a, b, &product) ||
                    __builtin_mul_overflow(product, c, &product) || __builtin_add_overflow(sum_, product, &sum_);
        return *this;
    }
    std::uint64_t total() const {
        return overflow_ ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(sum_);
    }

 private:
    std::int64_t sum_ = 0;
    bool overflow_ = false;
};

// A row-major view of memory for sums in the shape of `tensor`. It begins at *place, which is moved behind it.
StridedTensor sums_of(const StridedTensor &tensor, flashwright_dtype dtype, char **place) {
    if (!tensor.given) return tensor;
    StridedTensor sums = tensor;
    sums.data = *place;
    sums.dtype = dtype;
    sums.element_size = element_bytes(dtype);
    std::int64_t stride = 1;
    for (int axis = kChannel; axis >= kBatch; --axis) {
        sums.strides[axis] = stride;
        stride *= sums.shape[axis];
    }
    *place += stride * sums.element_size;
    return sums;
}

// Parts of a tile that is partly masked by position. More parts compute fewer masked pairs, but their sums are short.
constexpr std::int64_t kEdgeParts = 4;

// Spins for about the time of a tile, then lets other threads run.
constexpr int kSpins = 2000;

}  // namespace

BackwardSizes::BackwardSizes(const BackwardProblem &problem, const Kernel &kernel) {
    const ForwardProblem &p = problem.forward;
    width = kernel.tiles.width;
    tile_q = kernel.tiles.tile_q;
    block_q = std::min(round_up(kernel.tiles.block_q, tile_q), round_up(std::max<std::int64_t>(p.seqlen_q, 1), tile_q));
    edge_rows = round_up((block_q + kEdgeParts - 1) / kEdgeParts, tile_q);
    block_k = std::min(round_up(kernel.tiles.block_k, width), round_up(std::max<std::int64_t>(p.seqlen_k, 1), width));
    head_dim = round_up(p.head_dim, width);
    head_dim_v = round_up(p.head_dim_v, width);
    rows = round_up(p.seqlen_q, tile_q);
    blocks = (p.seqlen_q + block_q - 1) / block_q;
    chunks = std::max<std::int64_t>(1, (p.seqlen_k + block_k - 1) / block_k);
    // If dbias sums over heads or the batch, one chain has all of them, so that the order of this sum is fixed too.
    const bool shared_bias =
        problem.dbias.given && (problem.dbias.shape[kBatch] != p.batch || problem.dbias.shape[kHead] != p.heads);
    chain_heads = shared_bias ? p.batch * p.heads_kv : 1;
    chains = shared_bias ? 1 : p.batch * p.heads_kv;
    element = element_bytes(accumulation_dtype(p.dtype));
    sums_apart = rounds(p.dtype);
}

std::uint64_t BackwardSizes::worker_bytes() const {
    constexpr std::int64_t kFixed = 0x10000;
    // All elements are counted with the size of sums, which is at least that of the tensors. K, its transpose, dK; V
    // transposed, dV; padded Q, dQ; padded dO; and of each pair: P, dS (both perhaps twice), masks, dbias, and the
    // matrices of the score terms.
    std::int64_t of_a_pair = 5 * element + 1;
    for (const ListedInput &matrix : kTermMatrices) {
        of_a_pair += matrix.input.kind == InputKind::byte_matrix ? 1 : element;
    }
    return Bytes()
        .add(block_k, 3 * element, head_dim)
        .add(block_k, 2 * element, head_dim_v)
        .add(block_q, 2 * element, head_dim)
        .add(block_q, element, head_dim_v)
        .add(block_q, block_k, of_a_pair)
        .add(kFixed, 1)
        .total();
}

std::uint64_t BackwardSizes::shared_bytes(const BackwardProblem &problem) const {
    const std::int64_t heads = problem.forward.batch * problem.forward.heads;
    Bytes bytes;
    bytes.add(2 * element, heads, rows)
        .add(sizeof(bool), heads, blocks)
        .add(sizeof(std::atomic<std::int64_t>), chains, chunks)
        .add(kScratchAlignment, 2);
    for (const StridedTensor *tensor : {&problem.dq, &problem.dbias}) {
        if (!sums_apart || !tensor->given) continue;
        // The heads of all batch entries exist in memory, so their number fits 64 bits.
        bytes.add(tensor->shape[kBatch] * tensor->shape[kHead], tensor->shape[kRow], element * tensor->shape[kChannel]);
    }
    return bytes.total();
}

flashwright_status BackwardState::reserve(const flashwright_execution &execution) {
    const flashwright_status status = memory_.reserve(execution, 1, sizes_.shared_bytes(problem_));
    if (failed(status)) return status;
    const std::int64_t heads = problem_.forward.batch * problem_.forward.heads;
    char *place = memory_.arena(0) + 2 * sizes_.element * heads * sizes_.rows;
    const flashwright_dtype sum_dtype = accumulation_dtype(problem_.forward.dtype);
    dq_ = sizes_.sums_apart ? sums_of(problem_.dq, sum_dtype, &place) : problem_.dq;
    dbias_ = sizes_.sums_apart ? sums_of(problem_.dbias, sum_dtype, &place) : problem_.dbias;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free, "progress lies in plain memory");
    place += round_up(reinterpret_cast<std::intptr_t>(place), alignof(std::atomic<std::int64_t>)) -
             reinterpret_cast<std::intptr_t>(place);
    progress_ = reinterpret_cast<std::atomic<std::int64_t> *>(place);
    for (std::int64_t i = 0; i < sizes_.chains * sizes_.chunks; ++i) new (progress_ + i) std::atomic<std::int64_t>(0);
    finite_ = reinterpret_cast<bool *>(progress_ + sizes_.chains * sizes_.chunks);
    return status;
}

void BackwardState::wait_for_turn(std::int64_t chain, std::int64_t chunk, std::int64_t position) const {
    if (chunk == 0) return;
    // The previous chunk was started earlier, so some thread is working on it.
    const std::atomic<std::int64_t> &before = progress_[chain * sizes_.chunks + chunk - 1];
    for (int spins = 0; before.load(std::memory_order_acquire) <= position; ++spins) {
        if (spins < kSpins) {
            relax();
        } else {
            yield();
        }
    }
}

}  // namespace flashwright
