// flashwright_merge: merges attention results over two sets of keys.
#include <algorithm>

#include "execution.h"
#include "kernel_choice.h"
#include "scratch.h"
#include "status.h"
#include "tile_buffer.h"
#include "validate.h"

namespace flashwright {
namespace {

class MergeCall {
 public:
    MergeCall(const MergeProblem &problem, const Kernel &kernel) : problem_(problem), kernel_(kernel) {}

    void operator()(const RowTask &task, Scratch &scratch) const {
        TileBuffer out_a, lse_a, out_b, lse_b, out, lse;
        out_a.set_matrix(problem_.out_a, task.batch, task.head);
        lse_a.set_rows(problem_.lse_a, task.batch, task.head);
        out_b.set_matrix(problem_.out_b, task.batch, task.head);
        lse_b.set_rows(problem_.lse_b, task.batch, task.head);
        out.set_matrix(problem_.out, task.batch, task.head);
        lse.set_rows(problem_.lse, task.batch, task.head);
        for (std::int64_t tile = task.tile_begin; tile < task.tile_end; ++tile) {
            const std::int64_t row = tile * kernel_.tiles.block_q;
            const std::int64_t rows = std::min<std::int64_t>(kernel_.tiles.block_q, problem_.seqlen_q - row);
            scratch.reset();
            for (TileBuffer *buffer : {&out_a, &lse_a, &out_b, &lse_b, &out, &lse}) buffer->move_to(row, rows);
            kernel_.merge(&scratch, out_a.get(), lse_a.get(), out_b.get(), lse_b.get(), out.get(), lse.get());
        }
    }

 private:
    const MergeProblem &problem_;
    const Kernel &kernel_;
};

flashwright_status run_merge(const MergeProblem &problem, const flashwright_execution &execution) {
    KernelRequest request;
    request.op = Op::merge;
    request.dtype = problem.dtype;
    request.seqlen_q = problem.seqlen_q;
    request.head_dim = request.head_dim_v = problem.head_dim_v;
    KernelChoice choice;
    flashwright_status status = choose_kernel(request, execution, &choice);
    if (failed(status)) return status;
    const Kernel &kernel = kKernels[choice.index];
    const std::int64_t tile_rows = std::min<std::int64_t>(kernel.tiles.block_q, problem.seqlen_q);
    for (const StridedTensor *view :
         {&problem.out_a, &problem.lse_a, &problem.out_b, &problem.lse_b, &problem.out, &problem.lse}) {
        status = check_int32_span(*view, tile_rows);
        if (failed(status)) return status;
    }
    const TaskGrid grid(problem.batch, problem.heads, problem.seqlen_q, kernel.tiles.block_q, execution.threads);
    // Bound by memory: an element costs about as much as sixteen operations.
    const double operations = 16.0 * static_cast<double>(problem.batch) * static_cast<double>(problem.heads) *
                              static_cast<double>(problem.seqlen_q) * static_cast<double>(problem.head_dim_v);
    status = run_tasks(execution, grid, operations, scratch_bytes(kernel, 0, problem.head_dim_v, 0),
                       MergeCall(problem, kernel));
    if (!failed(status)) report_kernel(execution, kernel);
    return status;
}

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_merge(const flashwright_merge_args *args, const flashwright_execution *execution) {
    MergeProblem problem;
    flashwright_execution checked;
    flashwright_status status = validate_merge(args, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    return failed(status) ? status : run_merge(problem, checked);
}
