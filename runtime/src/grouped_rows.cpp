#include "grouped_rows.h"

#include <initializer_list>

#include "status.h"

namespace flashwright {
namespace {

// Row r of a head becomes what head `group` * head + r was.
void group_heads(StridedTensor *view, std::int64_t group) {
    view->strides[kRow] = view->strides[kHead];
    view->strides[kHead] *= group;
    view->shape[kRow] = group;
    view->shape[kHead] = (view->shape[kHead] + group - 1) / group;
}

}  // namespace

bool group_rows(const ForwardProblem &problem, ForwardProblem *grouped) {
    const std::int64_t group = problem.heads_kv > 0 ? problem.heads / problem.heads_kv : 0;
    const bool same_keys = problem.window_left < 0 && !problem.alibi_slopes.given;
    if (problem.seqlen_q != 1 || group < 2 || !same_keys) return false;

    *grouped = problem;
    grouped->heads = problem.heads_kv;
    grouped->seqlen_q = group;
    grouped->one_position = true;
    for (StridedTensor *view : {&grouped->q, &grouped->out, &grouped->lse, &grouped->bias, &grouped->mask}) {
        group_heads(view, group);
        if (failed(check_reach(*view, group))) return false;
    }
    return true;
}

}  // namespace flashwright
