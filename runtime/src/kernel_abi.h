// The signatures of generated kernels, and the table of them that the build generates from the configuration.
// A kernel is serial. One call computes one tile of query rows of one head, given as cropped views.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cpu_tiles.h"
#include "kernels/op.h"
#include "kernels/score_term.h"

struct halide_buffer_t;

namespace flashwright {

// A run of keys: `count` adjacent blocks of `length` keys each.
struct KeyRun {
    std::int32_t begin = 0, length = 1, count = 0;

    std::int32_t end() const { return begin + length * count; }
};

// The signatures of the kernels that have score terms, whose inputs are matrices (indices m) and numbers (indices n).
template <typename Matrices, typename Numbers>
struct TermKernels;
template <typename T, std::size_t>
using Repeated = T;

template <std::size_t... m, std::size_t... n>
struct TermKernels<std::index_sequence<m...>, std::index_sequence<n...>> {
    // All forward kernels.
    // Buffers: q, k, v and out are [channel, row or key]; matrices of terms are [key, row], and strides of 0 broadcast;
    // lse is [row] with stride 1. A kernel does not read the inputs of a term that it lacks.
    // Full blocks: every row of the tile attends to every key, except where a term says otherwise.
    // Masked blocks, left and right of the full ones: row i of the tile attends to key j only if
    // i + lo_offset <= j <= i + hi_offset and j < key_count.
    // nansafe is 1 if masked keys may have values that are not finite: then their values are kept out of the products.
    // Row i is at the position of key i + diagonal_offset.
    using Forward = int (*)(void *user_context, halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v,
                            Repeated<halide_buffer_t *, m>... matrices, double softmax_scale,
                            Repeated<double, n>... numbers, std::int32_t diagonal_offset, std::int32_t lo_offset,
                            std::int32_t hi_offset, std::int32_t key_count, std::int32_t nansafe,
                            std::int32_t full_begin, std::int32_t full_block, std::int32_t full_count,
                            std::int32_t left_begin, std::int32_t left_block, std::int32_t left_count,
                            std::int32_t right_begin, std::int32_t right_block, std::int32_t right_count,
                            halide_buffer_t *out, halide_buffer_t *lse);

    // All backward kernels: adds the gradient of one tile of queries and keys to dq, dk and dv.
    // Buffers: q, dout, k, dq, dk and dv are [channel, row or key]; kt, vt, matrices of terms and dbias are
    // [key, channel or row]. The first axis has stride 1. All are padded to whole register tiles (`*_tiles` of them)
    // with values that add nothing: 0, and +infinity in lse, which also stands for a row without any unmasked key.
    // dk comes without the softmax scale. dbias gets the gradient of the bias for every pair; it is not wanted if its
    // extents are 0.
    // Exactly one of unmasked, masked and nansafe is 1 and names the code path:
    //   unmasked: every row attends to every key;
    //   masked: row i attends to key j iff i + lo_offset <= j <= i + hi_offset, i < row_count, j < key_count, and no
    //     term masks it;
    //   nansafe: as masked, and Q, K, V and dO may hold NaN or infinity.
    using Backward = int (*)(void *user_context, halide_buffer_t *q, halide_buffer_t *dout, halide_buffer_t *k,
                             halide_buffer_t *kt, halide_buffer_t *vt, halide_buffer_t *lse, halide_buffer_t *delta,
                             Repeated<halide_buffer_t *, m>... matrices, double softmax_scale,
                             Repeated<double, n>... numbers, std::int32_t diagonal_offset, std::int32_t lo_offset,
                             std::int32_t hi_offset, std::int32_t row_count, std::int32_t key_count,
                             std::int32_t row_tiles, std::int32_t key_tiles, std::int32_t head_dim_tiles,
                             std::int32_t head_dim_v_tiles, std::int32_t unmasked, std::int32_t masked,
                             std::int32_t nansafe, halide_buffer_t *dq, halide_buffer_t *dk, halide_buffer_t *dv,
                             halide_buffer_t *dbias);
};

using MatrixIndices = std::make_index_sequence<kTermMatrices.size()>;
using NumberIndices = std::make_index_sequence<kTermNumbers.size()>;
using ForwardKernel = TermKernels<MatrixIndices, NumberIndices>::Forward;
using BackwardKernel = TermKernels<MatrixIndices, NumberIndices>::Backward;

// out_* [channel, row], lse_* [row].
using MergeKernel = int (*)(void *user_context, halide_buffer_t *out_a, halide_buffer_t *lse_a, halide_buffer_t *out_b,
                            halide_buffer_t *lse_b, halide_buffer_t *out, halide_buffer_t *lse);

// m, l [row]; acc [channel, row]; scores [key, row]; v [channel, key].
using StepKernel = int (*)(void *user_context, halide_buffer_t *m, halide_buffer_t *l, halide_buffer_t *acc,
                           halide_buffer_t *scores, halide_buffer_t *v, halide_buffer_t *m_out, halide_buffer_t *l_out,
                           halide_buffer_t *acc_out);

struct Kernel {
    const char *name;
    Op op;
    flashwright_dtype dtype;
    const char *isa;
    const char *variant;
    unsigned terms;  // the score terms that it holds (bits)
    Schedule schedule;
    CpuTiles tiles;
    const char *terms_text;
    const char *tiles_json;
    union {
        ForwardKernel forward;
        BackwardKernel backward;
        MergeKernel merge;
        StepKernel step;
    };

    bool is_generic() const { return schedule == Schedule::generic; }
    bool is_decode() const { return schedule == Schedule::decode; }
};

// One row of a dispatch table: the shape it was tuned for and the kernel that won.
struct TableRow {
    Op op;
    flashwright_dtype dtype;
    const char *isa;
    std::int64_t seqlen_q, seqlen_k, head_dim;
    bool causal;
    const char *variant;
    double ratio;  // time over the baseline's
};

// Generated by the build (kernel_registry.cpp). Of one op, dtype, ISA and set of terms, the baseline comes first.
extern const Kernel kKernels[];
extern const int kKernelCount;
extern const TableRow kTable[];
extern const int kTableCount;
extern const char *const kConfigJson;

}  // namespace flashwright
