#include "validate.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "kernels/dtype_dispatch.h"
#include "overlap.h"
#include "status.h"
#include "tile_plan.h"

namespace flashwright {
namespace {

constexpr std::int64_t kMaxLength = kFarOffset;
// A tile of rows with this many channels still has 32-bit indices.
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 24;

// One tensor argument: the given tensor, the form it must have, and the view to fill in.
struct TensorArgument {
    const flashwright_tensor *tensor;
    const char *name;
    TensorForm form;
    StridedTensor *view;
};

flashwright_status normalise_all(std::initializer_list<TensorArgument> arguments, flashwright_dtype dtype,
                                 bool check_memory) {
    for (const TensorArgument &argument : arguments) {
        const flashwright_status status =
            normalise(*argument.tensor, argument.name, argument.form, dtype, check_memory, argument.view);
        if (failed(status)) return status;
    }
    return ok_status();
}

flashwright_status check_args_pointer(const void *args) {
    return args != nullptr ? ok_status()
                           : make_status(FLASHWRIGHT_INVALID_ARGUMENT, "args: expected a pointer, got NULL");
}

// The element type of a call is that of its first tensor. `on_cpu`: it must have CPU kernels.
flashwright_status check_dtype(const flashwright_tensor &tensor, const char *name, bool on_cpu) {
    const int dtype = raw_value(tensor.dtype);
    const Dtype *row = find_dtype(dtype);
    if (row != nullptr && (row->on_cpu || !on_cpu)) return ok_status();
    char expected[64] = "";
    for (const Dtype &each : kDtypes) {
        if (each.on_cpu) append(expected, sizeof expected, "%s%s", expected[0] == '\0' ? "" : " or ", each.name);
    }
    return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected dtype %s, got %s", name, expected,
                       DtypeText(dtype).text());
}

struct ExpectedExtent {
    const StridedTensor &view;
    Axis axis;
    const char *axis_name;
    std::int64_t expected;
    const char *source;  // the argument that determines it
};

flashwright_status check_extents(std::initializer_list<ExpectedExtent> extents) {
    for (const ExpectedExtent &extent : extents) {
        const std::int64_t got = extent.view.shape[extent.axis];
        if (got != extent.expected) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected %s %" PRId64 " (as %s), got %" PRId64,
                               extent.view.name, extent.axis_name, extent.expected, extent.source, got);
        }
    }
    return ok_status();
}

flashwright_status check_range(const char *name, const char *axis_name, std::int64_t value, std::int64_t low,
                               std::int64_t high) {
    if (value >= low && value <= high) return ok_status();
    return make_status(value < low ? FLASHWRIGHT_INVALID_ARGUMENT : FLASHWRIGHT_UNSUPPORTED,
                       "%s: expected %s from %" PRId64 " to %" PRId64 ", got %" PRId64, name, axis_name, low, high,
                       value);
}

flashwright_status check_head_groups(std::int64_t heads, const char *heads_name, const StridedTensor &kv) {
    const std::int64_t heads_kv = kv.shape[kHead];
    if (heads_kv < 1) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected num_heads_kv of at least 1, got %" PRId64,
                           kv.name, heads_kv);
    }
    if (heads % heads_kv != 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "%s: expected num_heads_kv that divides num_heads %" PRId64 " (as %s), got %" PRId64,
                           kv.name, heads, heads_name, heads_kv);
    }
    return ok_status();
}

// An output and the one or two inputs that it may be identical to.
struct Output {
    const StridedTensor &view;
    const StridedTensor *in_place_a = nullptr, *in_place_b = nullptr;

    bool may_be(const StridedTensor &input) const {
        return (&input == in_place_a || &input == in_place_b) && identical(view, input);
    }
};

// `terms` has further inputs.
flashwright_status check_overlap(std::initializer_list<Output> outputs,
                                 std::initializer_list<const StridedTensor *> inputs, const TermOperands &terms = {}) {
    for (const Output *output = outputs.begin(); output != outputs.end(); ++output) {
        const StridedTensor &view = output->view;
        if (!view.given) continue;
        if (!distinct_elements(view)) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "%s: expected strides with distinct elements, got strides with which elements overlap",
                               view.name);
        }
        const StridedTensor *other = nullptr;
        const auto compare = [&](const StridedTensor &input) {
            if (input.given && !output->may_be(input) && !disjoint(view, input)) other = &input;
        };
        for (const StridedTensor *input : inputs) compare(*input);
        for (const StridedTensor &matrix : terms.matrices) compare(matrix);
        for (const TermOperands::Number &number : terms.numbers) compare(number.per_head);
        for (const Output *before = outputs.begin(); before != output; ++before) {
            if (before->view.given && !disjoint(view, before->view)) other = &before->view;
        }
        if (other != nullptr) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "%s: expected memory that does not overlap %s, got memory that does", view.name,
                               other->name);
        }
    }
    return ok_status();
}

// The largest finite and the smallest positive normal number of a type that kernels compute in.
struct Limits {
    double smallest, largest;
};
Limits limits_of(flashwright_dtype dtype) {
    return dispatch_cpu_dtype(dtype, [](auto value) {
        using Values = std::numeric_limits<decltype(value)>;
        return Limits{static_cast<double>(Values::min()), static_cast<double>(Values::max())};
    });
}

flashwright_status check_scalars(const flashwright_score_options &score, ForwardProblem *problem) {
    const flashwright_dtype dtype = accumulation_dtype(problem->dtype);
    const Limits limits = limits_of(dtype);
    const double scale =
        score.softmax_scale != nullptr ? *score.softmax_scale : 1.0 / std::sqrt(static_cast<double>(problem->head_dim));
    if (!(std::fabs(scale) <= limits.largest)) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "softmax_scale: expected a value that is finite in %s, got %g",
                           dtype_name(dtype), scale);
    }
    problem->softmax_scale = scale;
    for (std::size_t n = 0; n < kTermNumbers.size(); ++n) {
        const TermInput &input = kTermNumbers[n].input;
        if (input.kind != InputKind::scalar) continue;
        const double value = score.*input.number;
        if (value != 0.0 && !(value >= limits.smallest && value <= limits.largest)) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "%s: expected 0 (none) or a positive value that is finite and normal in %s, got %g",
                               input.name, dtype_name(dtype), value);
        }
        problem->terms.numbers[n].scalar = value;
    }
    return ok_status();
}

flashwright_status check_position(const flashwright_score_options &score, ForwardProblem *problem) {
    const int align = raw_value(score.align);
    if (score.causal != 0 && score.causal != 1) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "causal: expected 0 or 1, got %d", score.causal);
    }
    if (align < FLASHWRIGHT_ALIGN_DEFAULT || align > FLASHWRIGHT_ALIGN_BOTTOM_RIGHT) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "align: expected default, top-left or bottom-right, got the unknown value %d", align);
    }
    if (score.diagonal != nullptr && align != FLASHWRIGHT_ALIGN_DEFAULT) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "align: expected default, since diagonal is given, got %s",
                           align == FLASHWRIGHT_ALIGN_TOP_LEFT ? "top-left" : "bottom-right");
    }
    for (const auto &[name, value] :
         {std::pair{"window_left", score.window_left}, {"window_right", score.window_right}}) {
        if (value < -1) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected -1 (no limit) or more, got %" PRId64, name,
                               value);
        }
    }
    problem->causal = score.causal == 1;
    problem->bottom_right = align == FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    problem->diagonal = score.diagonal != nullptr ? *score.diagonal : 0;
    problem->window_left = score.window_left;
    problem->window_right = problem->causal ? 0 : score.window_right;
    return ok_status();
}

flashwright_status check_key_lengths(const ForwardProblem &problem) {
    const bool all_are_one = problem.key_lengths.strides[kBatch] == 0;
    const std::int64_t count = all_are_one ? std::min<std::int64_t>(problem.batch, 1) : problem.batch;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t length = problem.key_count(i);
        if (length < 0 || length > problem.seqlen_k) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                               "key_lengths[%" PRId64 "]: expected 0 to %" PRId64 " (seqlen_k), got %" PRId64, i,
                               problem.seqlen_k, length);
        }
    }
    return ok_status();
}

// Matrices of score terms: every axis except the keys may have extent 1, which is broadcast.
flashwright_status check_broadcast(const StridedTensor &view, const ForwardProblem &problem) {
    const struct {
        Axis axis;
        const char *name;
        std::int64_t extent;
    } axes[] = {
        {kBatch, "batch", problem.batch}, {kHead, "num_heads", problem.heads}, {kRow, "seqlen_q", problem.seqlen_q}};
    for (const auto &[axis, name, extent] : axes) {
        if (view.shape[axis] != 1 && view.shape[axis] != extent) {
            return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected %s 1 or %" PRId64 " (as q), got %" PRId64,
                               view.name, name, extent, view.shape[axis]);
        }
    }
    return check_extents({{view, kChannel, "seqlen_k", problem.seqlen_k, "k"}});
}

flashwright_status check_optional_tensors(const flashwright_score_options &score, bool check_memory,
                                          ForwardProblem *problem) {
    flashwright_status status = ok_status();
    for (std::size_t n = 0; n < kTermMatrices.size(); ++n) {
        const TermInput &input = kTermMatrices[n].input;
        const flashwright_tensor *tensor = score.*input.tensor;
        if (failed(status) || tensor == nullptr) continue;
        StridedTensor &matrix = problem->terms.matrices[n];
        const flashwright_dtype dtype = input.kind == InputKind::byte_matrix ? FLASHWRIGHT_BOOL : problem->dtype;
        status = normalise(*tensor, input.name, kBroadcastForm, dtype, check_memory, &matrix);
        if (!failed(status)) status = check_broadcast(matrix, *problem);
    }
    for (std::size_t n = 0; n < kTermNumbers.size(); ++n) {
        const TermInput &input = kTermNumbers[n].input;
        if (failed(status) || input.kind != InputKind::per_head || score.*input.tensor == nullptr) continue;
        StridedTensor &per_head = problem->terms.numbers[n].per_head;
        status = normalise(*(score.*input.tensor), input.name, kPerHeadForm, accumulation_dtype(problem->dtype),
                           check_memory, &per_head);
        if (!failed(status)) status = check_extents({{per_head, kHead, "num_heads", problem->heads, "q"}});
    }
    if (!failed(status) && score.key_lengths != nullptr) {
        StridedTensor &lengths = problem->key_lengths;
        status = normalise(*score.key_lengths, "key_lengths", kPerBatchForm, FLASHWRIGHT_I32, check_memory, &lengths);
        if (!failed(status)) status = check_extents({{lengths, kBatch, "batch", problem->batch, "q"}});
    }
    return status;
}

// Kernels compute the distance between a row and a key with 32 bits.
flashwright_status check_distances(const ForwardProblem &problem) {
    if (problem.bottom_right) return ok_status();
    if (problem.diagonal >= -kFarOffset && problem.diagonal <= kFarOffset - problem.seqlen_q) return ok_status();
    for (const ScoreTermRow &term : kScoreTerms) {
        if (!term.uses_position || (problem.terms.terms() & term.bit) == 0) continue;
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "diagonal: expected -2^30 to 2^30 - seqlen_q together with %s, got %" PRId64,
                           term.inputs[0].name, problem.diagonal);
    }
    return ok_status();
}

flashwright_status check_forward_shapes(ForwardProblem *problem) {
    const StridedTensor &q = problem->q, &k = problem->k, &v = problem->v, &out = problem->out;
    problem->batch = q.shape[kBatch];
    problem->heads = q.shape[kHead];
    problem->seqlen_q = q.shape[kRow];
    problem->head_dim = q.shape[kChannel];
    problem->heads_kv = k.shape[kHead];
    problem->seqlen_k = k.shape[kRow];
    problem->head_dim_v = v.shape[kChannel];
    flashwright_status status = check_range("q", "head_dim", problem->head_dim, 1, kMaxHeadDim);
    if (!failed(status)) status = check_range("v", "head_dim_v", problem->head_dim_v, 1, kMaxHeadDim);
    if (!failed(status)) status = check_range("q", "seqlen_q", problem->seqlen_q, 0, kMaxLength);
    if (!failed(status)) status = check_range("k", "seqlen_k", problem->seqlen_k, 0, kMaxLength);
    if (failed(status)) return status;
    status = check_extents({{k, kBatch, "batch", problem->batch, "q"},
                            {k, kChannel, "head_dim", problem->head_dim, "q"},
                            {v, kBatch, "batch", problem->batch, "q"},
                            {v, kHead, "num_heads_kv", problem->heads_kv, "k"},
                            {v, kRow, "seqlen_k", problem->seqlen_k, "k"},
                            {out, kBatch, "batch", problem->batch, "q"},
                            {out, kHead, "num_heads", problem->heads, "q"},
                            {out, kRow, "seqlen_q", problem->seqlen_q, "q"},
                            {out, kChannel, "head_dim_v", problem->head_dim_v, "v"}});
    if (!failed(status) && problem->lse.given) {
        status = check_extents({{problem->lse, kBatch, "batch", problem->batch, "q"},
                                {problem->lse, kHead, "num_heads", problem->heads, "q"},
                                {problem->lse, kRow, "seqlen_q", problem->seqlen_q, "q"}});
    }
    return failed(status) ? status : check_head_groups(problem->heads, "q", k);
}

// The shape [batch, num_heads, seqlen_q] of `rows` must be that of `like`.
flashwright_status check_same_rows(const StridedTensor &rows, const StridedTensor &like) {
    return check_extents({{rows, kBatch, "batch", like.shape[kBatch], like.name},
                          {rows, kHead, "num_heads", like.shape[kHead], like.name},
                          {rows, kRow, "seqlen_q", like.shape[kRow], like.name}});
}

flashwright_status check_all_rows(std::initializer_list<const StridedTensor *> views, const StridedTensor &like) {
    for (const StridedTensor *view : views) {
        const flashwright_status status = check_same_rows(*view, like);
        if (failed(status)) return status;
    }
    return ok_status();
}

// The checks that forward and backward share: all except overlaps.
flashwright_status check_attention(const flashwright_forward_args &args, bool with_lse, bool check_memory,
                                   ForwardProblem *problem) {
    flashwright_status status = check_dtype(args.q, "q", false);
    if (failed(status)) return status;
    problem->dtype = args.q.dtype;
    status = normalise_all({{&args.q, "q", kMatrixForm, &problem->q},
                            {&args.k, "k", kMatrixForm, &problem->k},
                            {&args.v, "v", kMatrixForm, &problem->v},
                            {&args.out, "out", kMatrixForm, &problem->out}},
                           problem->dtype, check_memory);
    if (!failed(status) && with_lse) {
        status = normalise(args.softmax_lse, "softmax_lse", kRowForm, accumulation_dtype(problem->dtype), check_memory,
                           &problem->lse);
    }
    if (!failed(status)) status = check_forward_shapes(problem);
    if (!failed(status)) status = check_scalars(args.score, problem);
    if (!failed(status)) status = check_position(args.score, problem);
    if (!failed(status)) status = check_optional_tensors(args.score, check_memory, problem);
    if (!failed(status)) status = check_distances(*problem);
    return status;
}

// A gradient has the shape of its tensor.
flashwright_status check_same_shape(const StridedTensor &view, const StridedTensor &like, const char *channels,
                                    bool of_queries) {
    return check_extents({{view, kBatch, "batch", like.shape[kBatch], like.name},
                          {view, kHead, of_queries ? "num_heads" : "num_heads_kv", like.shape[kHead], like.name},
                          {view, kRow, of_queries ? "seqlen_q" : "seqlen_k", like.shape[kRow], like.name},
                          {view, kChannel, channels, like.shape[kChannel], like.name}});
}

flashwright_status check_dbias(const flashwright_backward_args &args, bool check_memory, BackwardProblem *problem) {
    const ForwardProblem &p = problem->forward;
    if (!p.bias().given)
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "dbias: expected none since no bias is given, got one");
    const flashwright_status status =
        normalise(args.dbias, "dbias", kBroadcastForm, p.dtype, check_memory, &problem->dbias);
    return failed(status) ? status : check_same_shape(problem->dbias, p.bias(), "seqlen_k", true);
}

}  // namespace

std::int64_t ForwardProblem::key_count(std::int64_t batch_index) const {
    if (!key_lengths.given) return seqlen_k;
    std::int32_t length;
    std::memcpy(&length, key_lengths.at(batch_index, 0, 0), sizeof length);
    return length;
}

flashwright_status validate_forward(const flashwright_forward_args *args, bool check_memory, ForwardProblem *problem) {
    flashwright_status status = check_args_pointer(args);
    if (!failed(status)) status = check_attention(*args, args->softmax_lse.data != nullptr, check_memory, problem);
    if (!failed(status) && check_memory) {
        status = check_overlap({{problem->out}, {problem->lse}},
                               {&problem->q, &problem->k, &problem->v, &problem->key_lengths}, problem->terms);
    }
    if (!failed(status) && check_memory) status = check_key_lengths(*problem);
    return status;
}

flashwright_status validate_backward(const flashwright_backward_args *args, bool check_memory,
                                     BackwardProblem *problem) {
    flashwright_status status = check_args_pointer(args);
    if (failed(status)) return status;
    ForwardProblem &p = problem->forward;
    const flashwright_forward_args forward = {args->q, args->k, args->v, args->out, args->softmax_lse, args->score};
    status = check_attention(forward, true, check_memory, &p);
    if (!failed(status)) {
        status = normalise_all({{&args->dout, "dout", kMatrixForm, &problem->dout},
                                {&args->dq, "dq", kMatrixForm, &problem->dq},
                                {&args->dk, "dk", kMatrixForm, &problem->dk},
                                {&args->dv, "dv", kMatrixForm, &problem->dv}},
                               p.dtype, check_memory);
    }
    if (!failed(status)) status = check_same_shape(problem->dout, p.out, "head_dim_v", true);
    if (!failed(status)) status = check_same_shape(problem->dq, p.q, "head_dim", true);
    if (!failed(status)) status = check_same_shape(problem->dk, p.k, "head_dim", false);
    if (!failed(status)) status = check_same_shape(problem->dv, p.v, "head_dim_v", false);
    if (!failed(status) && args->dbias.data != nullptr) status = check_dbias(*args, check_memory, problem);
    if (failed(status) || !check_memory) return status;
    status = check_overlap({{problem->dq}, {problem->dk}, {problem->dv}, {problem->dbias}},
                           {&p.q, &p.k, &p.v, &p.out, &p.lse, &problem->dout, &p.key_lengths}, p.terms);
    return failed(status) ? status : check_key_lengths(p);
}

flashwright_status validate_merge(const flashwright_merge_args *args, MergeProblem *problem) {
    flashwright_status status = check_args_pointer(args);
    if (!failed(status)) status = check_dtype(args->out_a, "out_a", true);
    if (failed(status)) return status;
    MergeProblem &p = *problem;
    p.dtype = args->out_a.dtype;
    status = normalise_all({{&args->out_a, "out_a", kMatrixForm, &p.out_a},
                            {&args->lse_a, "lse_a", kRowForm, &p.lse_a},
                            {&args->out_b, "out_b", kMatrixForm, &p.out_b},
                            {&args->lse_b, "lse_b", kRowForm, &p.lse_b},
                            {&args->out, "out", kMatrixForm, &p.out},
                            {&args->lse, "lse", kRowForm, &p.lse}},
                           p.dtype, true);
    if (failed(status)) return status;
    p.batch = p.out_a.shape[kBatch];
    p.heads = p.out_a.shape[kHead];
    p.seqlen_q = p.out_a.shape[kRow];
    p.head_dim_v = p.out_a.shape[kChannel];
    status = check_range("out_a", "head_dim_v", p.head_dim_v, 1, kMaxHeadDim);
    if (!failed(status)) status = check_range("out_a", "seqlen_q", p.seqlen_q, 0, kMaxLength);
    if (!failed(status)) status = check_all_rows({&p.lse_a, &p.out_b, &p.lse_b, &p.out, &p.lse}, p.out_a);
    if (!failed(status)) {
        status = check_extents({{p.out_b, kChannel, "head_dim_v", p.head_dim_v, "out_a"},
                                {p.out, kChannel, "head_dim_v", p.head_dim_v, "out_a"}});
    }
    if (!failed(status)) {
        status = check_overlap({{p.out, &p.out_a, &p.out_b}, {p.lse, &p.lse_a, &p.lse_b}},
                               {&p.out_a, &p.lse_a, &p.out_b, &p.lse_b});
    }
    return status;
}

flashwright_status validate_step(const flashwright_step_args *args, StepProblem *problem) {
    flashwright_status status = check_args_pointer(args);
    if (!failed(status)) status = check_dtype(args->acc, "acc", true);
    if (failed(status)) return status;
    StepProblem &p = *problem;
    p.dtype = args->acc.dtype;
    status = normalise_all({{&args->m, "m", kRowForm, &p.m},
                            {&args->l, "l", kRowForm, &p.l},
                            {&args->acc, "acc", kMatrixForm, &p.acc},
                            {&args->scores, "scores", kMatrixForm, &p.scores},
                            {&args->v, "v", kMatrixForm, &p.v},
                            {&args->m_out, "m_out", kRowForm, &p.m_out},
                            {&args->l_out, "l_out", kRowForm, &p.l_out},
                            {&args->acc_out, "acc_out", kMatrixForm, &p.acc_out}},
                           p.dtype, true);
    if (failed(status)) return status;
    p.batch = p.acc.shape[kBatch];
    p.heads = p.acc.shape[kHead];
    p.seqlen_q = p.acc.shape[kRow];
    p.head_dim_v = p.acc.shape[kChannel];
    p.heads_kv = p.v.shape[kHead];
    p.block = p.scores.shape[kChannel];
    status = check_range("acc", "head_dim_v", p.head_dim_v, 1, kMaxHeadDim);
    if (!failed(status)) status = check_range("acc", "seqlen_q", p.seqlen_q, 0, kMaxLength);
    if (!failed(status)) status = check_range("scores", "block", p.block, 0, kMaxLength);
    if (!failed(status)) status = check_all_rows({&p.m, &p.l, &p.scores, &p.m_out, &p.l_out, &p.acc_out}, p.acc);
    if (!failed(status)) {
        status = check_extents({{p.v, kBatch, "batch", p.batch, "acc"},
                                {p.v, kRow, "block", p.block, "scores"},
                                {p.v, kChannel, "head_dim_v", p.head_dim_v, "acc"},
                                {p.acc_out, kChannel, "head_dim_v", p.head_dim_v, "acc"}});
    }
    if (!failed(status)) status = check_head_groups(p.heads, "acc", p.v);
    if (!failed(status)) {
        status = check_overlap({{p.m_out, &p.m}, {p.l_out, &p.l}, {p.acc_out, &p.acc}},
                               {&p.m, &p.l, &p.acc, &p.scores, &p.v});
    }
    return status;
}

flashwright_status check_int32_span(const StridedTensor &view, std::int64_t rows) {
    const std::int64_t span = view.span(rows);
    if (span <= std::numeric_limits<std::int32_t>::max()) return ok_status();
    return make_status(FLASHWRIGHT_UNSUPPORTED,
                       "%s: expected %" PRId64 " rows of a head to span less than 2^31 elements, got %" PRId64,
                       view.name, rows, span);
}

}  // namespace flashwright
