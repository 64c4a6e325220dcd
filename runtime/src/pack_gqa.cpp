#include "pack_gqa.h"

#include "status.h"

namespace flashwright {
namespace {

// Row r of head h of the new view is head `group` * h + r of the old one.
void heads_to_rows(StridedTensor *view, std::int64_t group) {
    view->strides[kRow] = view->strides[kHead];
    view->strides[kHead] *= group;
    view->shape[kRow] = group;
    view->shape[kHead] = (view->shape[kHead] + group - 1) / group;
}

}  // namespace

bool pack_gqa(const ForwardProblem &problem, ForwardProblem *packed) {
    const std::int64_t group = problem.heads_kv > 0 ? problem.heads / problem.heads_kv : 0;
    const bool same_keys = problem.window_left < 0 && !problem.terms.any_per_head() &&
                           (problem.terms.terms() & terms_with(&ScoreTermRow::uses_position)) == 0;
    if (problem.seqlen_q != 1 || group < 2 || !same_keys) return false;

    *packed = problem;
    packed->heads = problem.heads_kv;
    packed->seqlen_q = group;
    packed->one_position = true;
    const auto pack = [&](StridedTensor &view) {
        heads_to_rows(&view, group);
        return !failed(check_int32_span(view, group));
    };
    for (StridedTensor &matrix : packed->terms.matrices)
        if (!pack(matrix)) return false;
    return pack(packed->q) && pack(packed->out) && pack(packed->lse);
}

}  // namespace flashwright
