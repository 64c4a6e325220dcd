/* flashwright: exact attention kernels, generated and tuned for the machine they run on.
 *
 * The C interface. Everything the library does is here; flashwright.hpp is a thin C++ layer over it.
 *
 * Conventions
 *   - Tensors are non-owning views: a pointer, a shape and strides in elements. Rank 4 is
 *     [batch, heads, seqlen, head_dim]; rank 3 is [heads, seqlen, head_dim], rank 2 [seqlen, head_dim].
 *   - Inputs may have any strides, also 0 and negative ones, and may overlap each other. Outputs must not overlap
 *     themselves, each other, or an input (merge and step accept an output that is identical to its input).
 *   - Every call checks all its arguments first. On any status but FLASHWRIGHT_OK no output was written.
 *   - Lengths go up to 2^30, head dimensions up to 2^24. The keys or values of one head, and the rows that a kernel
 * takes at once of any other tensor, must span less than 2^31 elements; strides between heads and batch entries may
 * pass it.
 *   - Nothing here prints, aborts or throws. All functions may be called from several threads at once.
 *   - The algorithm is the blocked online softmax of Dao et al., "FlashAttention" (2022), section 3.1 and appendix B.
 */
#ifndef FLASHWRIGHT_FLASHWRIGHT_H
#define FLASHWRIGHT_FLASHWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#if defined(FLASHWRIGHT_SHARED) && defined(__GNUC__)
#define FLASHWRIGHT_API __attribute__((visibility("default")))
#else
#define FLASHWRIGHT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. Values are part of the ABI. */
typedef enum flashwright_dtype {
    FLASHWRIGHT_F32 = 0,  /* IEEE binary32 */
    FLASHWRIGHT_F64 = 1,  /* IEEE binary64 */
    FLASHWRIGHT_BOOL = 2, /* one byte: 0 is false, anything else true */
    FLASHWRIGHT_I32 = 3   /* two's complement, 32 bits */
} flashwright_dtype;

/* A view of memory that the caller owns. data == NULL: the tensor is not given (only where that is allowed). */
typedef struct flashwright_tensor {
    void *data;
    flashwright_dtype dtype;
    int32_t rank;       /* 1 to 4 */
    int64_t shape[4];   /* the first `rank` entries count */
    int64_t strides[4]; /* in elements, likewise */
} flashwright_tensor;

typedef enum flashwright_code {
    FLASHWRIGHT_OK = 0,
    FLASHWRIGHT_INVALID_ARGUMENT = 1, /* the message names the argument, what was expected and what came */
    FLASHWRIGHT_UNSUPPORTED = 2,      /* a valid request that this build or this CPU cannot serve */
    FLASHWRIGHT_OUT_OF_MEMORY = 3,
    FLASHWRIGHT_DEVICE_ERROR = 4 /* GPU backends: no driver or device, or it failed; the message has its words */
} flashwright_code;

typedef struct flashwright_status {
    flashwright_code code;
    char message[316]; /* empty on FLASHWRIGHT_OK; one line, zero-terminated */
} flashwright_status;

/* Where the diagonal runs that causal, the window and ALiBi refer to. */
typedef enum flashwright_align {
    FLASHWRIGHT_ALIGN_DEFAULT = 0,     /* top-left, unless `diagonal` is given */
    FLASHWRIGHT_ALIGN_TOP_LEFT = 1,    /* query i meets key i */
    FLASHWRIGHT_ALIGN_BOTTOM_RIGHT = 2 /* the last query meets the last key of its batch entry */
} flashwright_align;

/* What a score goes through, in this order: dot product * softmax_scale, soft cap, ALiBi and bias, masks. A key that is
 * hidden (causal, window, key length, mask, a bias of -inf) contributes nothing, whatever K and V hold there. A score
 * of -inf has weight 0; a row with no other score is one that sees no key. */
typedef struct flashwright_score_options {
    const double *softmax_scale; /* NULL: 1/sqrt(head_dim). Any finite value */
    int32_t causal;              /* 0 or 1: no key after the diagonal */
    flashwright_align align;
    const int64_t *diagonal;               /* not NULL: query i meets key i + *diagonal (then align must be DEFAULT) */
    int64_t window_left;                   /* keys seen before the diagonal's; -1: all */
    int64_t window_right;                  /* keys seen after the diagonal's; -1: all */
    double softcap;                        /* c > 0: c * tanh(score / c); 0: none */
    const flashwright_tensor *key_lengths; /* I32 [batch]: keys at and past it do not exist, 0 <= length <= seqlen_k */
    /* Dtype of Q, [batch|1, heads|1, seqlen_q|1, seqlen_k]; lower ranks drop the front. */
    const flashwright_tensor *bias;
    const flashwright_tensor *mask;         /* BOOL, same shapes: true is seen */
    const flashwright_tensor *alibi_slopes; /* dtype of Q, [heads]: adds -slope * |key - diagonal's key| */
} flashwright_score_options;

/* How a call is carried out. Zero-initialised is the default everywhere. */
typedef struct flashwright_execution {
    int32_t threads;    /* 0: FLASHWRIGHT_THREADS, else the processors this process may use; at most 1024 */
    const char *isa;    /* NULL: the best usable that FLASHWRIGHT_ISA allows; a name (see flashwright_isa) forces one */
    const char *kernel; /* NULL: FLASHWRIGHT_KERNEL, else chosen by shape; a name (see flashwright_kernel) forces one */
    int64_t key_block;  /* 0: the kernel's own; N >= 1 forces N keys a block, by the portable kernel. Of forward alone:
                           others check it and go on without */
    /* Caller's thread pool: run task(task_context, index) for index 0 <= index < count, on any threads, each once, and
     * return when all are done. `count` is at most `threads`, and less where a call is too small to share. The tasks
     * share out the work among themselves, so they may also run one after the other. NULL: the library's threads. */
    void (*parallel_for)(void *pool_context, int64_t count, void (*task)(void *task_context, int64_t index),
                         void *task_context);
    void *pool_context;
    /* Caller's memory, both or neither. Blocks are aligned to `alignment` (a power of two, at most 128). */
    void *(*allocate)(void *memory_context, size_t bytes, size_t alignment);
    void (*deallocate)(void *memory_context, void *block, size_t bytes);
    void *memory_context;
} flashwright_execution;

/* Attention forward: out = softmax(score(Q K^T)) V, row by row.
 *   q [batch, heads, seqlen_q, head_dim], k [batch, heads_kv, seqlen_k, head_dim],
 *   v [batch, heads_kv, seqlen_k, head_dim_v], out [batch, heads, seqlen_q, head_dim_v],
 *   softmax_lse [batch, heads, seqlen_q] (natural logarithm of the sum of exponentials of the row's scores; optional).
 * F32 or F64, all the same. heads is a multiple of heads_kv: query head h reads key head h / (heads / heads_kv). A row
 * that sees no key gives out 0 and lse -inf.
 * Start from flashwright_forward_args_init: windows of 0, as zeroed memory has them, let a row see the diagonal alone.
 */
typedef struct flashwright_forward_args {
    flashwright_tensor q, k, v, out, softmax_lse;
    flashwright_score_options score;
} flashwright_forward_args;

/* Sets the defaults: no tensors, no masks, windows -1. */
FLASHWRIGHT_API void flashwright_forward_args_init(flashwright_forward_args *args);
FLASHWRIGHT_API flashwright_status flashwright_forward(const flashwright_forward_args *args,
                                                       const flashwright_execution *execution /* may be NULL */);

/* The gradient of attention: dq, dk, dv (and dbias) from dout, the gradient of out, and what forward was given and gave
 * (Dao et al. 2022, appendix B), with P = softmax(score(Q K^T)) recomputed from softmax_lse:
 *   dv = P^T dout; dP = dout V^T; delta = rowsum(dout * out); dS = P * (dP - delta);
 *   dq = softmax_scale * dS' K, dk = softmax_scale * dS'^T Q, dS' = dS * (1 - tanh^2) under a soft cap, else dS;
 *   dbias = dS, summed over the axes on which bias has extent 1.
 * Shapes as in forward, every tensor required but dbias: dout as out, dq as q, dk as k, dv as v, dbias as bias (and
 * only with one). dk and dv sum over the query heads of their group. score must be what forward was given. Rows and
 * keys that nothing sees get gradients of exactly 0. Outputs are overwritten, not added to. P inherits the rounding of
 * softmax_lse, |lse| * 2^-24 (f32) or 2^-53: hide keys by mask, key_lengths or a bias of -inf, not by adding -1e9. */
typedef struct flashwright_backward_args {
    flashwright_tensor q, k, v, out, softmax_lse, dout; /* read */
    flashwright_tensor dq, dk, dv, dbias;               /* written */
    flashwright_score_options score;
} flashwright_backward_args;

/* Sets the defaults: no tensors, no masks, windows -1. */
FLASHWRIGHT_API void flashwright_backward_args_init(flashwright_backward_args *args);
FLASHWRIGHT_API flashwright_status flashwright_backward(const flashwright_backward_args *args,
                                                        const flashwright_execution *execution /* may be NULL */);
/* Which kernel flashwright_backward would take, as flashwright_forward_choice says it of forward. */
FLASHWRIGHT_API flashwright_status flashwright_backward_choice(const flashwright_backward_args *args,
                                                               const flashwright_execution *execution, int32_t *kernel,
                                                               char *reason, size_t reason_size);

/* Joins two attention results over disjoint sets of keys, as in Dao et al. (2022), section 3.1.
 *   out_*, out [batch, heads, seqlen_q, head_dim_v]; lse_*, lse [batch, heads, seqlen_q].
 *   A side with lse -inf is ignored, whatever its out holds. out and lse may be identical to one side's. */
typedef struct flashwright_merge_args {
    flashwright_tensor out_a, lse_a, out_b, lse_b, out, lse;
} flashwright_merge_args;

FLASHWRIGHT_API flashwright_status flashwright_merge(const flashwright_merge_args *args,
                                                     const flashwright_execution *execution);

/* One step of the online softmax (Dao et al. 2022, algorithm 1, without the division): takes one block of keys into the
 * state.
 *   m, l [batch, heads, seqlen_q]; acc [batch, heads, seqlen_q, head_dim_v] (unnormalised);
 *   scores [batch, heads, seqlen_q, block] (scaled, natural units; -inf hides), v [batch, heads_kv, block, head_dim_v].
 *   The empty state is m = -inf, l = 0, acc = 0. *_out may be identical to the inputs. */
typedef struct flashwright_step_args {
    flashwright_tensor m, l, acc, scores, v, m_out, l_out, acc_out;
} flashwright_step_args;

FLASHWRIGHT_API flashwright_status flashwright_online_softmax_step(const flashwright_step_args *args,
                                                                   const flashwright_execution *execution);

/* ---- what this build holds and what this CPU can run ---- */

typedef struct flashwright_isa_info {
    const char *name;        /* baseline, sse41, avx2, avx512 */
    const char *description; /* one line */
    const char *features;    /* required CPU features, separated by commas; empty for baseline */
    int32_t usable;          /* this CPU and operating system can run it */
    int32_t chosen;          /* the one used when nothing else is said (FLASHWRIGHT_ISA caps it) */
} flashwright_isa_info;

typedef struct flashwright_kernel_info {
    const char *name; /* e.g. forward_f32_avx512_v0 */
    const char *op;   /* forward, backward, merge, step */
    flashwright_dtype dtype;
    const char *isa;
    const char *terms; /* score terms compiled in besides scale and position: "", or a comma-separated list */
    const char *tiles; /* JSON object of the tile parameters */
    int32_t portable;  /* takes any shape, stride and key_block */
} flashwright_kernel_info;

FLASHWRIGHT_API const char *flashwright_version(void);
/* The configuration the kernels were built from, and its files. */
FLASHWRIGHT_API const char *flashwright_config_json(void);
/* What threads = 0 means: FLASHWRIGHT_THREADS, else the processors this process may use. 0 where FLASHWRIGHT_THREADS is
 * no number from 1 to 1024. Decided once. */
FLASHWRIGHT_API int32_t flashwright_default_threads(void);
FLASHWRIGHT_API int32_t flashwright_isa_count(void);
FLASHWRIGHT_API flashwright_isa_info flashwright_isa(int32_t index); /* best last; zeroed when out of range */
FLASHWRIGHT_API int32_t flashwright_kernel_count(void);
FLASHWRIGHT_API flashwright_kernel_info flashwright_kernel(int32_t index);

/* Which kernel `flashwright_forward` would take for these arguments, and in one line why. Only shapes, strides and
 * options count: data pointers may be NULL. An index into flashwright_kernel, or -1 with a status. `kernel` and
 * `reason` may be NULL. */
FLASHWRIGHT_API flashwright_status flashwright_forward_choice(const flashwright_forward_args *args,
                                                              const flashwright_execution *execution, int32_t *kernel,
                                                              char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif
#endif
