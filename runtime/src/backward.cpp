// flashwright_backward: gradients with recomputed scores (Dao et al. 2022, appendix B), over tiles of queries and keys.
#include <algorithm>
#include <cinttypes>
#include <limits>

#include "backward_chunk.h"
#include "backward_plan.h"
#include "call_by_kernel.h"
#include "execution.h"
#include "kernel_choice.h"
#include "kernels/dtype_dispatch.h"
#include "status.h"

namespace flashwright {
namespace {

flashwright_status check_all_spans(const BackwardProblem &problem, const BackwardSizes &sizes) {
    const std::int64_t rows = std::min(sizes.block_q, problem.forward.seqlen_q);
    const ForwardProblem &p = problem.forward;
    const std::int64_t channels = std::max(sizes.head_dim, sizes.head_dim_v);
    if (std::max(sizes.block_q, sizes.block_k) > std::numeric_limits<std::int32_t>::max() / channels) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "head_dim, head_dim_v: expected channels times %" PRId64
                           " (queries or keys of a block) to be less than 2^31, got %" PRId64 " channels",
                           std::max(sizes.block_q, sizes.block_k), channels);
    }
    for (const StridedTensor *view : {&p.q, &problem.dout, &problem.dq}) {
        const flashwright_status status = check_int32_span(*view, rows);
        if (failed(status)) return status;
    }
    for (const StridedTensor &matrix : p.terms.matrices) {
        const flashwright_status status = check_int32_span(matrix, rows);
        if (failed(status)) return status;
    }
    return ok_status();
}

template <typename T>
flashwright_status run_backward(const BackwardProblem &problem, const Kernel &kernel,
                                const flashwright_execution &execution) {
    if (problem.nothing_to_write()) return ok_status();
    const BackwardSizes sizes(problem, kernel);
    BackwardState state(problem, sizes);
    const ForwardProblem &p = problem.forward;
    flashwright_status status = check_all_spans(problem, sizes);
    if (!failed(status)) status = state.reserve(execution);
    if (failed(status)) return status;
    const double pairs = static_cast<double>(p.batch) * static_cast<double>(p.heads) * static_cast<double>(p.seqlen_q) *
                         static_cast<double>(p.seqlen_k);
    const double operations = pairs * static_cast<double>(6 * p.head_dim + 4 * p.head_dim_v);
    const BackwardGrid grid(sizes.chains, sizes.chunks, execution.threads);
    return run_tasks(execution, grid, operations, sizes.worker_bytes(),
                     [&](const BackwardTask &task, Scratch &scratch) {
                         for (std::int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
                             BackwardChunk<T>(problem, kernel, sizes, state, task.chain, chunk, scratch).run();
                         }
                     });
}

flashwright_status run_kernel(const BackwardProblem &problem, const Kernel &kernel,
                              const flashwright_execution &execution) {
    const flashwright_status status = dispatch_cpu_dtype(problem.forward.dtype, [&](auto element) {
        return run_backward<decltype(element)>(problem, kernel, execution);
    });
    if (!failed(status)) report_kernel(execution, kernel);
    return status;
}

}  // namespace

flashwright_status backward_by_kernel(const flashwright_backward_args &args, const flashwright_execution &execution,
                                      const Kernel &kernel) {
    BackwardProblem problem;
    flashwright_execution checked;
    flashwright_status status = validate_backward(&args, true, &problem);
    if (!failed(status)) status = validate_execution(&execution, &checked);
    if (failed(status)) return status;
    if (const char *why = why_unsupported(kernel, attention_request(Op::backward, problem.forward))) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "kernel: %s cannot take this call: %s", kernel.name, why);
    }
    return run_kernel(problem, kernel, checked);
}

}  // namespace flashwright

using namespace flashwright;

void flashwright_backward_args_init(flashwright_backward_args *args) {
    if (args == nullptr) return;
    *args = flashwright_backward_args{};
    args->score.window_left = -1;
    args->score.window_right = -1;
}

flashwright_status flashwright_backward(const flashwright_backward_args *args, const flashwright_execution *execution) {
    BackwardProblem problem;
    flashwright_execution checked;
    KernelChoice choice;
    flashwright_status status = validate_backward(args, true, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    if (!failed(status)) status = choose_kernel(attention_request(Op::backward, problem.forward), checked, &choice);
    if (failed(status)) return status;
    return run_kernel(problem, kKernels[choice.index], checked);
}

flashwright_status flashwright_backward_choice(const flashwright_backward_args *args,
                                               const flashwright_execution *execution, int32_t *kernel, char *reason,
                                               size_t reason_size) {
    BackwardProblem problem;
    flashwright_execution checked;
    clear_choice(kernel, reason, reason_size);
    KernelChoice choice;
    flashwright_status status = validate_backward(args, false, &problem);
    if (!failed(status)) status = validate_execution(execution, &checked);
    if (failed(status)) return status;
    const KernelRequest request = attention_request(Op::backward, problem.forward);
    status = choose_kernel(request, checked, &choice);
    if (!failed(status)) report_choice(request, choice, kernel, reason, reason_size);
    return status;
}
