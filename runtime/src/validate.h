// Checks the arguments of calls and brings them to a normalised form.
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

#include "tensor_view.h"
#include "term_operands.h"

namespace flashwright {

struct ForwardProblem {
    flashwright_dtype dtype = FLASHWRIGHT_F32;  // any of kDtypes, also one without CPU kernels
    std::int64_t batch = 0, heads = 0, heads_kv = 0, seqlen_q = 0, seqlen_k = 0, head_dim = 0, head_dim_v = 0;
    StridedTensor q, k, v, out, lse, key_lengths;  // lse and key_lengths may be absent
    TermOperands terms;
    double softmax_scale = 1.0;
    bool causal = false;
    bool bottom_right = false;  // the diagonal depends on the batch entry's key length
    std::int64_t diagonal = 0;  // if not bottom_right
    std::int64_t window_left = -1, window_right = -1;
    bool one_position = false;  // all rows of a head have the position of its first (see pack_gqa.h)

    double softcap() const { return terms.numbers[place_of_input(kTermNumbers, "softcap")].scalar; }
    const StridedTensor &alibi_slopes() const {
        return terms.numbers[place_of_input(kTermNumbers, "alibi_slopes")].per_head;
    }
    const StridedTensor &bias() const { return terms.matrices[place_of_input(kTermMatrices, "bias")]; }
    const StridedTensor &mask() const { return terms.matrices[place_of_input(kTermMatrices, "mask")]; }

    std::int64_t key_count(std::int64_t batch_index) const;
    std::int64_t diagonal_of(std::int64_t batch_index) const {
        return bottom_right ? key_count(batch_index) - (one_position ? 1 : seqlen_q) : diagonal;
    }
};

struct BackwardProblem {
    ForwardProblem forward;                 // out and lse are inputs here
    StridedTensor dout, dq, dk, dv, dbias;  // dbias may be absent

    bool nothing_to_write() const { return dq.empty() && dk.empty() && dv.empty() && (!dbias.given || dbias.empty()); }
};

struct MergeProblem {
    flashwright_dtype dtype = FLASHWRIGHT_F32;
    std::int64_t batch = 0, heads = 0, seqlen_q = 0, head_dim_v = 0;
    StridedTensor out_a, lse_a, out_b, lse_b, out, lse;
};

struct StepProblem {
    flashwright_dtype dtype = FLASHWRIGHT_F32;
    std::int64_t batch = 0, heads = 0, heads_kv = 0, seqlen_q = 0, block = 0, head_dim_v = 0;
    StridedTensor m, l, acc, scores, v, m_out, l_out, acc_out;
};

// Without `check_memory` only shapes, strides and options are checked; data pointers are not read.
flashwright_status validate_forward(const flashwright_forward_args *args, bool check_memory, ForwardProblem *problem);
flashwright_status validate_backward(const flashwright_backward_args *args, bool check_memory,
                                     BackwardProblem *problem);
flashwright_status validate_merge(const flashwright_merge_args *args, MergeProblem *problem);
flashwright_status validate_step(const flashwright_step_args *args, StepProblem *problem);

// Kernels use 32-bit indices in one head: `rows` rows of the tensor must span less than 2^31 elements.
flashwright_status check_int32_span(const StridedTensor &view, std::int64_t rows);

}  // namespace flashwright
