// flashwright_forward: blocked online softmax (Dao et al. 2022, section 3.1) over tiles of query rows.
#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include "call_by_kernel.h"
#include "execution.h"
#include "grouped_rows.h"
#include "head_matrix.h"
#include "kernel_choice.h"
#include "kernels/dtype_dispatch.h"
#include "scratch_size.h"
#include "status.h"
#include "tile_buffer.h"
#include "tile_plan.h"
#include "validate.h"

namespace flashwright {
namespace {

// What kernels with bias or mask terms read where none is given. All-zero bytes are 0.0 in every element type.
constexpr double kZeroBias = 0.0;
constexpr std::uint8_t kSeen = 1;

KernelRequest kernel_request(const ForwardProblem &problem, const flashwright_execution &execution) {
    KernelRequest request = attention_request(Op::forward, problem);
    request.generic_only = execution.key_block > 0;
    for (const StridedTensor *view : {&problem.q, &problem.k, &problem.v, &problem.out}) {
        request.unit_channel_strides = request.unit_channel_strides && view->strides[kChannel] == 1;
    }
    return request;
}

flashwright_status check_all_reaches(const ForwardProblem &problem, std::int64_t tile_rows) {
    for (const StridedTensor *view : {&problem.k, &problem.v}) {
        const flashwright_status status = check_reach(*view, problem.seqlen_k);
        if (failed(status)) return status;
    }
    for (const StridedTensor *view : {&problem.q, &problem.out, &problem.bias, &problem.mask}) {
        const flashwright_status status = check_reach(*view, tile_rows);
        if (failed(status)) return status;
    }
    return ok_status();
}

// A kernel and the blocks it is given.
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
    ForwardCall(const ForwardProblem &problem, const Kernel &usual, const Kernel &last, std::int64_t key_block)
        : problem_(problem),
          usual_(usual, problem, key_block),
          last_(last, problem, key_block),
          lse_dtype_(accumulation_dtype(problem.dtype)),
          one_by_one_(key_block > 0),
          hides_from_memory_((attention_request(Op::forward, problem).terms & kTestEveryKey) != 0) {}

    std::uint64_t scratch() const { return std::max(usual_.scratch, last_.scratch); }

    // Only the pointers of what moves with the rows change between the tiles of a task.
    void operator()(const RowTask &task, Scratch &scratch) const {
        const std::int64_t kv_head = task.head / (problem_.heads / problem_.heads_kv);
        TileBuffer q, k, v, bias, mask, out, lse;
        q.set_matrix(problem_.q, task.batch, task.head);
        k.set_matrix(problem_.k, task.batch, kv_head);
        v.set_matrix(problem_.v, task.batch, kv_head);
        out.set_matrix(problem_.out, task.batch, task.head);
        set_broadcast(&bias, problem_.bias, task, &kZeroBias, problem_.dtype);
        set_broadcast(&mask, problem_.mask, task, &kSeen, FLASHWRIGHT_BOOL);
        const bool direct_lse = problem_.lse.given && (problem_.lse.strides[kRow] == 1 || problem_.seqlen_q == 1);
        if (direct_lse) lse.set_rows(problem_.lse, task.batch, task.head);
        const KeyVisibility keys = visibility(task.batch);
        const double slope = alibi_slope(task.head);
        const int careful = hidden_values_matter(task, kv_head, keys.key_count) ? 1 : 0;

        const std::int64_t block_q = usual_.kernel.tiles.block_q;
        const std::int64_t end = std::min(task.tile_end * block_q, problem_.seqlen_q);
        for (std::int64_t row = task.tile_begin * block_q, rows; row < end; row += rows) {
            const TileKernel &by = end - row < block_q ? last_ : usual_;
            rows = std::min<std::int64_t>(by.kernel.tiles.block_q, end - row);
            scratch.reset();
            char *lse_row = direct_lse ? nullptr : allocate_lse_row(scratch);
            if (!direct_lse) lse.set_row_memory(lse_row, lse_dtype_);
            for (TileBuffer *buffer : {&q, &bias, &mask, &out, &lse}) buffer->move_to(row, rows);
            for (const TileBuffer *buffer : {&q, &out}) buffer->prefetch();
            const TilePlan plan = plan_tile(keys, row, rows, by.blocks);
            // Kernels are built without assertions and their memory is reserved: they have no failure to report.
            by.kernel.forward(&scratch, q.get(), k.get(), v.get(), bias.get(), mask.get(), problem_.softmax_scale,
                              problem_.softcap, slope, plan.diagonal_offset, plan.lo_offset, plan.hi_offset,
                              static_cast<std::int32_t>(keys.key_count), careful, plan.interior.begin,
                              plan.interior.length, plan.interior.count, plan.left.begin, plan.left.length,
                              plan.left.count, plan.right.begin, plan.right.length, plan.right.count, out.get(),
                              lse.get());
            if (problem_.lse.given && !direct_lse) spread_lse(lse_row, task, row, rows);
        }
    }

 private:
    // Kernels write a contiguous lse: where one goes that nobody wants, or whose rows lie apart.
    char *allocate_lse_row(Scratch &scratch) const {
        const std::int64_t bytes = usual_.kernel.tiles.block_q * element_bytes(lse_dtype_);
        return static_cast<char *>(scratch.allocate(static_cast<std::uint64_t>(bytes)));
    }

    void spread_lse(const char *lse_row, const RowTask &task, std::int64_t row, std::int64_t rows) const {
        const auto size = static_cast<std::size_t>(problem_.lse.element_size);
        for (std::int64_t i = 0; i < rows; ++i, lse_row += size) {
            std::memcpy(problem_.lse.at(task.batch, task.head, row + i), lse_row, size);
        }
    }

    void set_broadcast(TileBuffer *buffer, const StridedTensor &view, const RowTask &task, const void *constant,
                       flashwright_dtype dtype) const {
        if (view.given) {
            buffer->set_matrix(view, task.batch, task.head);
        } else {
            buffer->set_constant(constant, dtype, problem_.seqlen_k);
        }
    }

    KeyVisibility visibility(std::int64_t batch) const {
        KeyVisibility keys;
        keys.key_count = problem_.key_count(batch);
        keys.seqlen_k = problem_.seqlen_k;
        keys.everything_masked = one_by_one_;
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

    // Whether keys may be hidden in memory whose values are no finite numbers. Looking costs as much as a few rows. The
    // answer is the same for all tasks of a head, as the two ways may round differently.
    bool hidden_values_matter(const RowTask &task, std::int64_t kv_head, std::int64_t key_count) const {
        if (!hides_from_memory_) return false;
        if (problem_.seqlen_q <= usual_.kernel.tiles.block_q) return true;
        return dispatch_cpu_dtype(problem_.dtype, [&](auto element) {
            return !all_finite(HeadMatrix<decltype(element)>(problem_.v, task.batch, kv_head), 0, key_count);
        });
    }

    double alibi_slope(std::int64_t head) const {
        if (!problem_.alibi_slopes.given) return 0.0;
        return dispatch_cpu_dtype(problem_.alibi_slopes.dtype, [&](auto slope) {
            std::memcpy(&slope, problem_.alibi_slopes.at(0, head, 0), sizeof slope);
            return static_cast<double>(slope);
        });
    }

    const ForwardProblem &problem_;
    TileKernel usual_, last_;
    flashwright_dtype lse_dtype_;
    bool one_by_one_;         // a forced block size: only a masked range is cut into blocks of just that size
    bool hides_from_memory_;  // the call has a term that does
};

// `last` takes the rows that fill no tile of `usual`.
flashwright_status run_kernels(const ForwardProblem &problem, const flashwright_execution &execution,
                               const Kernel &usual, const Kernel &last) {
    const std::int32_t block_q = usual.tiles.block_q;
    flashwright_status status = check_all_reaches(problem, std::min<std::int64_t>(block_q, problem.seqlen_q));
    if (failed(status)) return status;
    constexpr std::int64_t kMaxKeyBlock = std::int64_t{1} << 24;  // times the rows of a tile: 32-bit indices
    if (std::min(execution.key_block, problem.seqlen_k) > kMaxKeyBlock) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "key_block: expected at most %" PRId64 " keys, got %" PRId64,
                           kMaxKeyBlock, execution.key_block);
    }
    const ForwardCall call(problem, usual, last, execution.key_block);
    const TaskGrid grid(problem.batch, problem.heads, problem.seqlen_q, block_q, execution.threads);
    const double pairs = static_cast<double>(problem.batch) * static_cast<double>(problem.heads) *
                         static_cast<double>(problem.seqlen_q) * static_cast<double>(problem.seqlen_k);
    status = run_tasks(execution, grid, 2.0 * pairs * static_cast<double>(problem.head_dim + problem.head_dim_v),
                       call.scratch(), call);
    if (!failed(status)) report_kernel(execution, usual);
    return status;
}

// Whether the rows of a group are sooner done together than one by one.
bool worth_grouping(const KernelChoice &of_one, const KernelChoice &of_group, std::int64_t rows) {
    const Kernel &usual = kKernels[of_group.index], &last = kKernels[of_group.last_index];
    const std::int64_t left_over = rows % usual.tiles.block_q;
    const double together = row_cost(usual, rows - left_over) + row_cost(last, left_over);
    return together <= static_cast<double>(rows) * row_cost(kKernels[of_one.index], 1);
}

// The kernels for the problem, whose rows are grouped where that is worthwhile.
flashwright_status choose(const flashwright_execution &execution, ForwardProblem *problem, KernelChoice *choice) {
    const flashwright_status status = choose_kernel(kernel_request(*problem, execution), execution, choice);
    ForwardProblem grouped;
    if (failed(status) || !group_rows(*problem, &grouped)) return status;
    KernelChoice of_group;
    if (failed(choose_kernel(kernel_request(grouped, execution), execution, &of_group))) return status;
    if (worth_grouping(*choice, of_group, grouped.seqlen_q)) {
        *problem = grouped;
        *choice = of_group;
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
    if (const char *obstacle = obstacle_to(kernel, request)) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "kernel: %s cannot take this call: %s", kernel.name, obstacle);
    }
    return run_kernels(problem, checked, kernel, as_shipped ? left_over_kernel(request, kernel) : kernel);
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
    return run_kernels(problem, checked, kKernels[choice.index], kKernels[choice.last_index]);
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
