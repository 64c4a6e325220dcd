// flashwright_forward: blocked online softmax (Dao et al. 2022, section 3.1) over tiles of query rows.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include "call_by_kernel.h"
#include "execution.h"
#include "head_matrix.h"
#include "kernel_choice.h"
#include "kernels/dtype_dispatch.h"
#include "pack_gqa.h"
#include "scratch.h"
#include "status.h"
#include "term_call.h"
#include "tile_buffer.h"
#include "tile_plan.h"
#include "validate.h"

namespace flashwright {
namespace {

// Kernels read these for a term's matrix that the call does not have. Zero bytes are 0.0 in every element type.
constexpr double kZero = 0.0;
constexpr std::uint8_t kOneByte = 1;

KernelRequest kernel_request(const ForwardProblem &problem, const flashwright_execution &execution) {
    KernelRequest request = attention_request(Op::forward, problem);
    request.generic_only = execution.key_block > 0;
    for (const StridedTensor *view : {&problem.q, &problem.k, &problem.v, &problem.out}) {
        request.unit_channel_strides = request.unit_channel_strides && view->strides[kChannel] == 1;
    }
    return request;
}

flashwright_status check_all_spans(const ForwardProblem &problem, std::int64_t tile_rows) {
    for (const StridedTensor *view : {&problem.k, &problem.v}) {
        const flashwright_status status = check_int32_span(*view, problem.seqlen_k);
        if (failed(status)) return status;
    }
    for (const StridedTensor *view : {&problem.q, &problem.out}) {
        const flashwright_status status = check_int32_span(*view, tile_rows);
        if (failed(status)) return status;
    }
    for (const StridedTensor &matrix : problem.terms.matrices) {
        const flashwright_status status = check_int32_span(matrix, tile_rows);
        if (failed(status)) return status;
    }
    return ok_status();
}

// A kernel, the lengths of its key blocks in this call, and the scratch it needs.
struct TileKernel {
    TileKernel(const Kernel &of, const ForwardProblem &problem, std::int64_t key_block) : kernel(of) {
        const std::int64_t whole = std::max<std::int64_t>(problem.seqlen_k, kernel.tiles.tile_k);
        blocks.block_k = std::min(key_block > 0 ? key_block : kernel.tiles.block_k, whole);
        blocks.tile_k = kernel.tiles.tile_k;
        scratch =
            scratch_bytes(kernel, problem.head_dim, problem.head_dim_v, longest_block(blocks, kernel.tiles.block_q));
    }

    const Kernel &kernel;
    BlockShape blocks;
    std::uint64_t scratch;
};

class ForwardCall {
 public:
    ForwardCall(const ForwardProblem &problem, const Kernel &main_kernel, const Kernel &tail_kernel,
                std::int64_t key_block)
        : problem_(problem),
          main_(main_kernel, problem, key_block),
          tail_(tail_kernel, problem, key_block),
          lse_dtype_(accumulation_dtype(problem.dtype)),
          test_every_key_(key_block > 0),
          masks_from_memory_((problem.terms.terms() & kTestEveryKey) != 0) {}

    std::uint64_t scratch() const { return std::max(main_.scratch, tail_.scratch); }

    // Computes one task. Between its tiles only the pointers of the tensors with rows change.
    void operator()(const RowTask &task, Scratch &scratch) const {
        const std::int64_t kv_head = task.head / (problem_.heads / problem_.heads_kv);
        TileBuffer q, k, v, out, lse;
        TermMatrixBuffers matrices;
        q.set_matrix(problem_.q, task.batch, task.head);
        k.set_matrix(problem_.k, task.batch, kv_head);
        v.set_matrix(problem_.v, task.batch, kv_head);
        out.set_matrix(problem_.out, task.batch, task.head);
        for (std::size_t n = 0; n < matrices.size(); ++n) set_matrix(&matrices[n], n, task);
        const bool direct_lse = problem_.lse.given && (problem_.lse.strides[kRow] == 1 || problem_.seqlen_q == 1);
        if (direct_lse) lse.set_rows(problem_.lse, task.batch, task.head);
        const KeyVisibility keys = visibility(task.batch);
        const auto numbers = problem_.terms.numbers_of(task.head);
        const int nansafe = needs_nansafe(task, kv_head, keys.key_count) ? 1 : 0;

        const std::int64_t block_q = main_.kernel.tiles.block_q;
        const std::int64_t end = std::min(task.tile_end * block_q, problem_.seqlen_q);
        for (std::int64_t row = task.tile_begin * block_q, rows; row < end; row += rows) {
            const TileKernel &tile = end - row < block_q ? tail_ : main_;
            rows = std::min<std::int64_t>(tile.kernel.tiles.block_q, end - row);
            scratch.reset();
            char *lse_row = direct_lse ? nullptr : allocate_lse_row(scratch);
            if (!direct_lse) lse.set_row_memory(lse_row, lse_dtype_);
            for (TileBuffer *buffer : {&q, &out, &lse}) buffer->move_to(row, rows);
            for (TileBuffer &matrix : matrices) matrix.move_to(row, rows);
            for (const TileBuffer *buffer : {&q, &out}) buffer->prefetch();
            const TilePlan plan = plan_tile(keys, row, rows, tile.blocks);
            // Kernels have no assertions and their memory is reserved, so they cannot fail.
            call_with_terms(
                [&](auto... terms) {
                    tile.kernel.forward(&scratch, q.get(), k.get(), v.get(), terms..., plan.diagonal_offset,
                                        plan.lo_offset, plan.hi_offset, static_cast<std::int32_t>(keys.key_count),
                                        nansafe, plan.full.begin, plan.full.length, plan.full.count, plan.left.begin,
                                        plan.left.length, plan.left.count, plan.right.begin, plan.right.length,
                                        plan.right.count, out.get(), lse.get());
                },
                matrices, problem_.softmax_scale, numbers);
            if (problem_.lse.given && !direct_lse) spread_lse(lse_row, task, row, rows);
        }
    }

 private:
    // Kernels write a contiguous lse. This is its place if the caller wants none, or one with another stride.
    char *allocate_lse_row(Scratch &scratch) const {
        const std::int64_t bytes = main_.kernel.tiles.block_q * element_bytes(lse_dtype_);
        return static_cast<char *>(scratch.allocate(static_cast<std::uint64_t>(bytes)));
    }

    void spread_lse(const char *lse_row, const RowTask &task, std::int64_t row, std::int64_t rows) const {
        const auto size = static_cast<std::size_t>(problem_.lse.element_size);
        for (std::int64_t i = 0; i < rows; ++i, lse_row += size) {
            std::memcpy(problem_.lse.at(task.batch, task.head, row + i), lse_row, size);
        }
    }

    // The nth matrix of score terms.
    void set_matrix(TileBuffer *buffer, std::size_t n, const RowTask &task) const {
        const StridedTensor &matrix = problem_.terms.matrices[n];
        if (matrix.given) {
            buffer->set_matrix(matrix, task.batch, task.head);
        } else if (kTermMatrices[n].input.kind == InputKind::byte_matrix) {
            buffer->set_constant(&kOneByte, FLASHWRIGHT_BOOL, problem_.seqlen_k);
        } else {
            buffer->set_constant(&kZero, problem_.dtype, problem_.seqlen_k);
        }
    }

    KeyVisibility visibility(std::int64_t batch) const {
        KeyVisibility keys;
        keys.key_count = problem_.key_count(batch);
        keys.seqlen_k = problem_.seqlen_k;
        keys.everything_masked = test_every_key_;
        if (!problem_.one_position) {
            keys.diagonal = problem_.diagonal_of(batch);
            keys.window_left = problem_.window_left;
            keys.window_right = problem_.window_right;
        } else if (problem_.window_right >= 0) {
            const std::int64_t last = saturating_add(problem_.diagonal_of(batch), problem_.window_right);
            keys.key_count = std::clamp<std::int64_t>(saturating_add(last, 1), 0, keys.key_count);
        }
        return keys;
    }

    // Whether a score term may mask a key whose values are not finite. Looking at V costs as much as computing a few
    // rows. All tasks of a head get the same answer, because the two code paths may round differently.
    bool needs_nansafe(const RowTask &task, std::int64_t kv_head, std::int64_t key_count) const {
        if (!masks_from_memory_) return false;
        if (problem_.seqlen_q <= main_.kernel.tiles.block_q) return true;
        return dispatch_cpu_dtype(problem_.dtype, [&](auto element) {
            return !all_finite(HeadMatrix<decltype(element)>(problem_.v, task.batch, kv_head), 0, key_count);
        });
    }

    const ForwardProblem &problem_;
    TileKernel main_, tail_;
    flashwright_dtype lse_dtype_;
    bool test_every_key_;     // key_block is forced: only masked blocks can have exactly that length
    bool masks_from_memory_;  // the call has a term that masks by what is in memory
};

// `main_kernel` computes whole tiles of rows, `tail_kernel` the rows after them.
flashwright_status run_kernels(const ForwardProblem &problem, const flashwright_execution &execution,
                               const Kernel &main_kernel, const Kernel &tail_kernel) {
    const std::int32_t block_q = main_kernel.tiles.block_q;
    flashwright_status status = check_all_spans(problem, std::min<std::int64_t>(block_q, problem.seqlen_q));
    if (failed(status)) return status;
    constexpr std::int64_t kMaxKeyBlock = std::int64_t{1} << 24;  // times the rows of a tile it fits 32 bits
    if (std::min(execution.key_block, problem.seqlen_k) > kMaxKeyBlock) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "key_block: expected at most %" PRId64 " keys, got %" PRId64,
                           kMaxKeyBlock, execution.key_block);
    }
    const ForwardCall call(problem, main_kernel, tail_kernel, execution.key_block);
    const TaskGrid grid(problem.batch, problem.heads, problem.seqlen_q, block_q, execution.threads);
    const double pairs = static_cast<double>(problem.batch) * static_cast<double>(problem.heads) *
                         static_cast<double>(problem.seqlen_q) * static_cast<double>(problem.seqlen_k);
    status = run_tasks(execution, grid, 2.0 * pairs * static_cast<double>(problem.head_dim + problem.head_dim_v),
                       call.scratch(), call);
    if (!failed(status)) report_kernel(execution, main_kernel);
    return status;
}

// Whether computing `rows` packed rows together is faster than one by one.
bool worth_packing(const KernelChoice &of_one, const KernelChoice &of_packed, std::int64_t rows) {
    const Kernel &main_kernel = kKernels[of_packed.index], &tail_kernel = kKernels[of_packed.tail_index];
    const std::int64_t tail_rows = rows % main_kernel.tiles.block_q;
    const double together = row_cost(main_kernel, rows - tail_rows) + row_cost(tail_kernel, tail_rows);
    return together <= static_cast<double>(rows) * row_cost(kKernels[of_one.index], 1);
}

// Chooses the kernels. Packs the query heads that share keys if that is faster.
flashwright_status choose(const flashwright_execution &execution, ForwardProblem *problem, KernelChoice *choice) {
    const flashwright_status status = choose_kernel(kernel_request(*problem, execution), execution, choice);
    ForwardProblem packed;
    if (failed(status) || !pack_gqa(*problem, &packed)) return status;
    KernelChoice of_packed;
    if (failed(choose_kernel(kernel_request(packed, execution), execution, &of_packed))) return status;
    if (worth_packing(*choice, of_packed, packed.seqlen_q)) {
        *problem = packed;
        *choice = of_packed;
    }
    return status;
}

}  // namespace

flashwright_status forward_by_kernel(const flashwright_forward_args &args, const flashwright_execution &execution,
                                     const Kernel &kernel, bool as_shipped) {
    ForwardProblem problem;
    flashwright_execution checked;
    flashwright_status status = validate_forward(&args, true, &problem);
    if (!failed(status)) status = validate_execution(&execution, &checked);
    if (failed(status)) return status;
    const KernelRequest request = kernel_request(problem, checked);
    if (const char *why = why_unsupported(kernel, request)) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "kernel: %s cannot take this call: %s", kernel.name, why);
    }
    return run_kernels(problem, checked, kernel, as_shipped ? choose_tail_kernel(request, kernel) : kernel);
}

}  // namespace flashwright

using namespace flashwright;

void flashwright_forward_args_init(flashwright_forward_args *args) {
    if (args == nullptr) return;
    *args = flashwright_forward_args{};
    args->score.window_left = -1;
    args->score.window_right = -1;
}

flashwright_status flashwright_forward(const flashwright_forward_args *args, const flashwright_execution *execution) {
    ForwardProblem problem;
    flashwright_execution checked;
    KernelChoice choice;
    flashwright_status status = validate_forward(args, true, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    if (!failed(status)) status = choose(checked, &problem, &choice);
    if (failed(status)) return status;
    return run_kernels(problem, checked, kKernels[choice.index], kKernels[choice.tail_index]);
}

flashwright_status flashwright_forward_choice(const flashwright_forward_args *args,
                                              const flashwright_execution *execution, int32_t *kernel, char *reason,
                                              size_t reason_size) {
    ForwardProblem problem;
    flashwright_execution checked;
    clear_choice(kernel, reason, reason_size);
    KernelChoice choice;
    flashwright_status status = validate_forward(args, false, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    if (!failed(status)) status = choose(checked, &problem, &choice);
    if (!failed(status)) report_choice(kernel_request(problem, checked), choice, kernel, reason, reason_size);
    return status;
}
