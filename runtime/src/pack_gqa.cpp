#include "pack_gqa.h"

#include <initializer_list>

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
    const bool same_keys = problem.window_left < 0 && !problem.alibi_slopes.given;
    if (problem.seqlen_q != 1 || group < 2 || !same_keys) return false;

    *packed = problem;
    packed->heads = problem.heads_kv;
    packed->seqlen_q = group;
    packed->one_position = true;
    for (StridedTensor *view : {&packed->q, &packed->out, &packed->lse, &packed->bias, &packed->mask}) {
        heads_to_rows(view, group);
        if (failed(check_int32_span(*view, group))) return false;
    }
    return true;
}

}  // namespace flashwright
