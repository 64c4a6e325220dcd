// The signatures of generated kernels, and the table of them that the build generates from the configuration.
// A kernel is serial and works on one task: one tile of query rows of one head, given as cropped views.
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

#include "kernels/cpu_tiles.h"
#include "kernels/op.h"
#include "kernels/score_term.h"

struct halide_buffer_t;

namespace flashwright {

// A run of keys: `count` blocks of `length` keys each.
struct KeyRun {
    std::int32_t begin = 0, length = 1, count = 0;

    std::int32_t end() const { return begin + length * count; }
};

// All forward kernels. Buffers are [channel, row or key]; bias and mask [key, row], strides of 0 broadcast; lse [row]
// with stride 1. A kernel whose terms lack bias (mask, softcap, alibi) does not read that argument. Every row of the
// tile sees every key of the interior but for what bias and mask hide, the values of which are finite unless careful is
// 1; in `left` and `right` row i of the tile sees key j only if i + lo_offset <= j <= i + hi_offset and j < key_count.
// ALiBi measures from row i's key i + diagonal_offset.
using ForwardKernel = int (*)(void *user_context, halide_buffer_t *q, halide_buffer_t *k, halide_buffer_t *v,
                              halide_buffer_t *bias, halide_buffer_t *mask, double softmax_scale, double softcap,
                              double alibi_slope, std::int32_t diagonal_offset, std::int32_t lo_offset,
                              std::int32_t hi_offset, std::int32_t key_count, std::int32_t careful,
                              std::int32_t interior_begin, std::int32_t interior_block, std::int32_t interior_count,
                              std::int32_t left_begin, std::int32_t left_block, std::int32_t left_count,
                              std::int32_t right_begin, std::int32_t right_block, std::int32_t right_count,
                              halide_buffer_t *out, halide_buffer_t *lse);

// Adds the gradient of one tile of queries and keys to dq, dk and dv, which are [channel, row or key], as are q, dout
// and k; kt, vt, bias, mask and dbias are [key, channel or row]. The first axis of all has stride 1, and all are padded
// to `tiles` register tiles with values that add nothing: 0, and +infinity in lse, also for a row that sees no key. dk
// comes without the softmax scale. One of interior, masked and careful is 1, the others 0: every row sees every key;
// row i sees key j iff i + lo_offset <= j <= i + hi_offset, i < row_count, j < key_count, and mask and bias say so; the
// same, and Q, K, V and dO may hold what is not finite. dbias is the gradient of a bias for every pair, wanted unless
// its extents are 0.
using BackwardKernel = int (*)(void *user_context, halide_buffer_t *q, halide_buffer_t *dout, halide_buffer_t *k,
                               halide_buffer_t *kt, halide_buffer_t *vt, halide_buffer_t *lse, halide_buffer_t *delta,
                               halide_buffer_t *bias, halide_buffer_t *mask, double softmax_scale, double softcap,
                               double alibi_slope, std::int32_t diagonal_offset, std::int32_t lo_offset,
                               std::int32_t hi_offset, std::int32_t row_count, std::int32_t key_count,
                               std::int32_t row_tiles, std::int32_t key_tiles, std::int32_t head_dim_tiles,
                               std::int32_t head_dim_v_tiles, std::int32_t interior, std::int32_t masked,
                               std::int32_t careful, halide_buffer_t *dq, halide_buffer_t *dk, halide_buffer_t *dv,
                               halide_buffer_t *dbias);

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
    double ratio;  // time over the default's
};

// Generated by the build (kernel_registry.cpp). Of one op, dtype, ISA and set of terms, the default comes first.
extern const Kernel kKernels[];
extern const int kKernelCount;
extern const TableRow kTable[];
extern const int kTableCount;
extern const char *const kConfigJson;

}  // namespace flashwright
