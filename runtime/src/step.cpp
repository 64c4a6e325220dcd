// flashwright_online_softmax_step: updates the state with one block of keys (Dao et al. 2022, algorithm 1).
#include <algorithm>

#include "execution.h"
#include "kernel_choice.h"
#include "scratch.h"
#include "status.h"
#include "tile_buffer.h"
#include "validate.h"

namespace flashwright {
namespace {

class StepCall {
 public:
    StepCall(const StepProblem &problem, const Kernel &kernel) : problem_(problem), kernel_(kernel) {}

    void operator()(const RowTask &task, Scratch &scratch) const {
        TileBuffer m, l, acc, scores, v, m_out, l_out, acc_out;
        m.set_rows(problem_.m, task.batch, task.head);
        l.set_rows(problem_.l, task.batch, task.head);
        acc.set_matrix(problem_.acc, task.batch, task.head);
        scores.set_matrix(problem_.scores, task.batch, task.head);
        v.set_matrix(problem_.v, task.batch, task.head / (problem_.heads / problem_.heads_kv));
        m_out.set_rows(problem_.m_out, task.batch, task.head);
        l_out.set_rows(problem_.l_out, task.batch, task.head);
        acc_out.set_matrix(problem_.acc_out, task.batch, task.head);
        for (std::int64_t tile = task.tile_begin; tile < task.tile_end; ++tile) {
            const std::int64_t row = tile * kernel_.tiles.block_q;
            const std::int64_t rows = std::min<std::int64_t>(kernel_.tiles.block_q, problem_.seqlen_q - row);
            scratch.reset();
            for (TileBuffer *buffer : {&m, &l, &acc, &scores, &m_out, &l_out, &acc_out}) buffer->move_to(row, rows);
            kernel_.step(&scratch, m.get(), l.get(), acc.get(), scores.get(), v.get(), m_out.get(), l_out.get(),
                         acc_out.get());
        }
    }

 private:
    const StepProblem &problem_;
    const Kernel &kernel_;
};

flashwright_status check_all_spans(const StepProblem &problem, std::int64_t tile_rows) {
    const flashwright_status status = check_int32_span(problem.v, problem.block);
    if (failed(status)) return status;
    for (const StridedTensor *view :
         {&problem.m, &problem.l, &problem.acc, &problem.scores, &problem.m_out, &problem.l_out, &problem.acc_out}) {
        const flashwright_status tile_status = check_int32_span(*view, tile_rows);
        if (failed(tile_status)) return tile_status;
    }
    return ok_status();
}

flashwright_status run_step(const StepProblem &problem, const flashwright_execution &execution) {
    KernelRequest request;
    request.op = Op::step;
    request.dtype = problem.dtype;
    request.seqlen_q = problem.seqlen_q;
    request.seqlen_k = problem.block;
    request.head_dim = request.head_dim_v = problem.head_dim_v;
    KernelChoice choice;
    flashwright_status status = choose_kernel(request, execution, &choice);
    if (failed(status)) return status;
    const Kernel &kernel = kKernels[choice.index];
    status = check_all_spans(problem, std::min<std::int64_t>(kernel.tiles.block_q, problem.seqlen_q));
    if (failed(status)) return status;
    const TaskGrid grid(problem.batch, problem.heads, problem.seqlen_q, kernel.tiles.block_q, execution.threads);
    const double operations = 2.0 * static_cast<double>(problem.batch) * static_cast<double>(problem.heads) *
                              static_cast<double>(problem.seqlen_q) * static_cast<double>(problem.block + 8) *
                              static_cast<double>(problem.head_dim_v);
    const std::int64_t at_once = std::min<std::int64_t>(problem.block, kernel.tiles.tile_k);
    status = run_tasks(execution, grid, operations, scratch_bytes(kernel, 0, problem.head_dim_v, at_once),
                       StepCall(problem, kernel));
    if (!failed(status)) report_kernel(execution, kernel);
    return status;
}

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_online_softmax_step(const flashwright_step_args *args,
                                                   const flashwright_execution *execution) {
    StepProblem problem;
    flashwright_execution checked;
    flashwright_status status = validate_step(args, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    return failed(status) ? status : run_step(problem, checked);
}
