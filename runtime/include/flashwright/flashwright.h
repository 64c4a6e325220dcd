/**
 * @file
 * The C interface of flashwright: exact attention kernels, generated and tuned for the machine they run on.
 *
 * Everything the library does is here; flashwright.hpp is a thin C++ layer over it. What holds for all calls:
 *
 * - Tensors are non-owning views: a pointer, a shape and strides in elements. Rank 4 is [batch, heads, seqlen,
 *   head_dim]; rank 3 is [heads, seqlen, head_dim], rank 2 [seqlen, head_dim], and the axes that are missing have
 *   extent 1. Tensors with one value a query row (softmax_lse, m, l) lack the last axis: rank 3 to 1.
 * - Inputs may have any strides, also 0 and negative ones, and may overlap each other. Outputs must not overlap
 *   themselves, each other, or an input (merge and step accept an output that is identical to its input).
 * - All tensors of a call are F32, or all are F64, but for those whose dtype is named. Lengths, strides and diagonals
 *   count elements; scores are in natural units, not in powers of two. Attention of F16, which is computed in F32, has
 *   softmax_lse and alibi_slopes in F32.
 * - Every call checks all its arguments first. On any status but FLASHWRIGHT_OK no output was written.
 * - Lengths go up to 2^30, head dimensions from 1 to 2^24; batch, heads and lengths may be 0, heads_kv not. The keys or
 * values of one head, and the rows that a kernel takes at once of any other tensor, must span less than 2^31 elements;
 * strides between heads and batch entries may pass it.
 * - Nothing here prints, aborts or throws. All functions may be called from several threads at once.
 *
 * The algorithm is the blocked online softmax of Dao, Fu, Ermon, Rudra, Ré, "FlashAttention: Fast and Memory-Efficient
 * Exact Attention with IO-Awareness" (2022), section 3.1 and appendix B.
 */
#ifndef FLASHWRIGHT_FLASHWRIGHT_H
#define FLASHWRIGHT_FLASHWRIGHT_H

#include <stddef.h>
#include <stdint.h>

/** Before a declaration: the function is exported by the shared library. */
#if defined(FLASHWRIGHT_SHARED) && defined(__GNUC__)
#define FLASHWRIGHT_API __attribute__((visibility("default")))
#else
#define FLASHWRIGHT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. Values are part of the ABI. */
typedef enum flashwright_dtype {
    FLASHWRIGHT_F32 = 0,  /**< IEEE binary32. */
    FLASHWRIGHT_F64 = 1,  /**< IEEE binary64. */
    FLASHWRIGHT_BOOL = 2, /**< One byte: 0 is false, anything else true. */
    FLASHWRIGHT_I32 = 3,  /**< Two's complement, 32 bits. */
    FLASHWRIGHT_F16 = 4   /**< IEEE binary16, of attention on GPUs alone: it has no CPU kernels. */
} flashwright_dtype;

/** A view of memory that the caller owns; aligned as its elements need, no more. */
typedef struct flashwright_tensor {
    void *data;              /**< The element with all indices 0. NULL: not given (only where that is allowed). */
    flashwright_dtype dtype; /**< Type of the elements. */
    int32_t rank;            /**< Number of axes, 1 to 4. */
    int64_t shape[4];        /**< Extents, 0 or more; the first `rank` entries count. */
    int64_t strides[4];      /**< In elements, any sign, likewise; of an axis of extent 1 it means nothing. */
} flashwright_tensor;

/** What became of a call. */
typedef enum flashwright_code {
    FLASHWRIGHT_OK = 0,               /**< Done: all outputs are written. */
    FLASHWRIGHT_INVALID_ARGUMENT = 1, /**< The message names the argument, what was expected and what came. */
    FLASHWRIGHT_UNSUPPORTED = 2,      /**< A valid request that this build, this CPU or a limit rules out. */
    FLASHWRIGHT_OUT_OF_MEMORY = 3,    /**< Working memory was refused. */
    FLASHWRIGHT_DEVICE_ERROR = 4 /**< GPU backends: no driver or device, or it failed; the message has its words. */
} flashwright_code;

/** What every call returns. */
typedef struct flashwright_status {
    flashwright_code code; /**< FLASHWRIGHT_OK, or what went wrong. */
    char message[316];     /**< Empty on FLASHWRIGHT_OK; one line, zero-terminated. */
} flashwright_status;

/** Where the diagonal runs that causal, the window and ALiBi refer to. */
typedef enum flashwright_align {
    FLASHWRIGHT_ALIGN_DEFAULT = 0,     /**< Top-left, unless `diagonal` is given. */
    FLASHWRIGHT_ALIGN_TOP_LEFT = 1,    /**< Query i meets key i. */
    FLASHWRIGHT_ALIGN_BOTTOM_RIGHT = 2 /**< The last query meets the last key of its batch entry. */
} flashwright_align;

/**
 * What a score goes through, in this order: dot product * softmax_scale, soft cap, ALiBi and bias, masks.
 *
 * A key that is hidden (causal, window, key length, mask, a bias of -inf) contributes nothing, whatever K and V hold
 * there. A score of -inf has weight 0; a row with no other score is one that sees no key. Set the defaults by
 * flashwright_forward_args_init: windows of 0, as zeroed memory has them, let a row see the diagonal alone.
 */
typedef struct flashwright_score_options {
    const double *softmax_scale; /**< Factor of the dot products, any finite value; NULL: 1/sqrt(head_dim). */
    int32_t causal;              /**< 1: no key after the diagonal (window_right is not looked at); 0: all. */
    flashwright_align align;     /**< Where the diagonal runs. */
    const int64_t *diagonal;     /**< Not NULL: query i meets key i + *diagonal; align must then be DEFAULT. */
    int64_t window_left;         /**< Keys seen before the diagonal's; -1: all. */
    int64_t window_right;        /**< Keys seen after the diagonal's; -1: all. */
    double softcap;              /**< c > 0, normal in the dtype: score becomes c * tanh(score / c); 0: none. */
    const flashwright_tensor *key_lengths; /**< I32 [batch], 0 to seqlen_k: keys at and past it do not exist.  */
    const flashwright_tensor *bias; /**< Dtype of Q, [batch|1, heads|1, seqlen_q|1, seqlen_k], lower ranks drop the
                                       front: added to the scores. NULL: none. */
    const flashwright_tensor *mask; /**< BOOL, shapes as bias: true is seen. NULL: all are. */
    const flashwright_tensor *alibi_slopes; /**< Dtype of Q, [heads]: adds -slope * |key - diagonal's key|. */
} flashwright_score_options;

/** How a call is carried out. Zero-initialised is the default everywhere. */
typedef struct flashwright_execution {
    int32_t threads; /**< At most 1024; 0: what flashwright_default_threads says. */
    const char *isa; /**< A name (see flashwright_isa) forces one; NULL: the best usable that the environment variable
                          FLASHWRIGHT_ISA allows. */
    const char *kernel; /**< A name (see flashwright_kernel) forces one; NULL: FLASHWRIGHT_KERNEL of the environment,
                           else chosen by shape. */
    /**
     * N >= 1 forces N keys a block, at most 2^24, by the generic kernel (then `kernel` must be NULL); 0: the kernel's
     * own. Of forward alone: others check it and go on without.
     */
    int64_t key_block;
    /**
     * Caller's thread pool; NULL: the library's threads.
     *
     * Runs task(task_context, index) for index 0 <= index < count, on any threads, each once, and returns when all are
     * done. `count` is at most `threads`, and less where a call is too small to share. The tasks share out the work
     * among themselves, so they may also run one after the other.
     */
    void (*parallel_for)(void *pool_context, int64_t count, void (*task)(void *task_context, int64_t index),
                         void *task_context);
    void *pool_context; /**< Handed to parallel_for. */
    /** Caller's memory, aligned to `alignment`, a power of two <= 128; NULL on failure. With deallocate or not at all.
     */
    void *(*allocate)(void *memory_context, size_t bytes, size_t alignment);
    /** Takes a block back, with the bytes that were asked for. */
    void (*deallocate)(void *memory_context, void *block, size_t bytes);
    void *memory_context; /**< Handed to allocate and deallocate. */
    /**
     * Optional output: on FLASHWRIGHT_OK the call stores the name of the kernel that ran, also where there was nothing
     * to compute; on any other status it stores nothing. In forward, the last rows may run by another kernel of the
     * same instruction set; the name is that of the kernel for all other rows, as flashwright_forward_choice gives it.
     * The string lives as long as the library. Calls that run at the same time need a place each. NULL: not wanted.
     */
    const char **kernel_used;
} flashwright_execution;

/**
 * Arguments of flashwright_forward.
 *
 * F32 or F64, all the same. heads is a multiple of heads_kv: query head h reads key head h / (heads / heads_kv).
 */
typedef struct flashwright_forward_args {
    flashwright_tensor q;            /**< Read: [batch, heads, seqlen_q, head_dim]. */
    flashwright_tensor k;            /**< Read: [batch, heads_kv, seqlen_k, head_dim]. */
    flashwright_tensor v;            /**< Read: [batch, heads_kv, seqlen_k, head_dim_v]. */
    flashwright_tensor out;          /**< Written: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor softmax_lse;  /**< Written, optional: [batch, heads, seqlen_q], the natural logarithm of the sum
                                        of  exponentials of a row's scores. */
    flashwright_score_options score; /**< What the scores go through. */
} flashwright_forward_args;

/**
 * Sets the defaults: no tensors, no masks, windows -1.
 * @param[out] args Overwritten.
 */
FLASHWRIGHT_API void flashwright_forward_args_init(flashwright_forward_args *args);

/**
 * Attention forward: out = softmax(score(Q K^T)) V, row by row, and the logarithm of each row's sum.
 *
 * A row that sees no key gives out 0 and lse -inf. Blocked online softmax: Dao et al. (2022), section 3.1.
 * @param args Tensors and options, from flashwright_forward_args_init.
 * @param execution How it runs; NULL: the defaults.
 * @return FLASHWRIGHT_INVALID_ARGUMENT for shapes, dtypes or strides that do not fit, outputs that overlap anything and
 *     options out of range; FLASHWRIGHT_UNSUPPORTED past the limits or for a kernel that cannot serve;
 *     FLASHWRIGHT_OUT_OF_MEMORY.
 */
FLASHWRIGHT_API flashwright_status flashwright_forward(const flashwright_forward_args *args,
                                                       const flashwright_execution *execution);

/**
 * Arguments of flashwright_backward: what forward was given and gave, dout, and where the gradients go.
 *
 * Every tensor is required but dbias.
 */
typedef struct flashwright_backward_args {
    flashwright_tensor q;            /**< Read: [batch, heads, seqlen_q, head_dim]. */
    flashwright_tensor k;            /**< Read: [batch, heads_kv, seqlen_k, head_dim]. */
    flashwright_tensor v;            /**< Read: [batch, heads_kv, seqlen_k, head_dim_v]. */
    flashwright_tensor out;          /**< Read: what forward wrote, [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor softmax_lse;  /**< Read: what forward wrote, [batch, heads, seqlen_q]. */
    flashwright_tensor dout;         /**< Read: the gradient of out, in its shape. */
    flashwright_tensor dq;           /**< Written: shape of q. */
    flashwright_tensor dk;           /**< Written: shape of k; the sum over the query heads of a group. */
    flashwright_tensor dv;           /**< Written: shape of v; likewise. */
    flashwright_tensor dbias;        /**< Written, optional, only with a bias: its shape. */
    flashwright_score_options score; /**< Must be what forward was given. */
} flashwright_backward_args;

/**
 * Sets the defaults: no tensors, no masks, windows -1.
 * @param[out] args Overwritten.
 */
FLASHWRIGHT_API void flashwright_backward_args_init(flashwright_backward_args *args);

/**
 * The gradients of attention by q, k, v and the bias.
 *
 * With P = softmax(score(Q K^T)) recomputed from softmax_lse (Dao et al. 2022, appendix B):
 *
 *     dv = P^T dout; dP = dout V^T; delta = rowsum(dout * out); dS = P * (dP - delta);
 *     dq = softmax_scale * dS' K, dk = softmax_scale * dS'^T Q, dS' = dS * (1 - tanh^2) under a soft cap, else dS;
 *     dbias = dS, summed over the axes on which bias has extent 1.
 *
 * Rows and keys that nothing sees get gradients of exactly 0. Outputs are overwritten, not added to. P inherits the
 * rounding of softmax_lse, |lse| * 2^-24 (F32) or 2^-53: hide keys by mask, key_lengths or a bias of -inf, not by
 * adding -1e9.
 * @param args Tensors and options, from flashwright_backward_args_init.
 * @param execution How it runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_backward(const flashwright_backward_args *args,
                                                        const flashwright_execution *execution);

/**
 * Which kernel flashwright_backward would take, as flashwright_forward_choice says it of forward.
 * @param args Shapes, strides and options count; data pointers may be NULL.
 * @param execution As for the call; NULL: the defaults.
 * @param[out] kernel An index into flashwright_kernel, or -1 if the status is not FLASHWRIGHT_OK; may be NULL.
 * @param[out] reason One line, zero-terminated, cut off at `reason_size`; may be NULL.
 * @param reason_size Bytes that `reason` holds.
 * @return As flashwright_backward.
 */
FLASHWRIGHT_API flashwright_status flashwright_backward_choice(const flashwright_backward_args *args,
                                                               const flashwright_execution *execution, int32_t *kernel,
                                                               char *reason, size_t reason_size);

/**
 * Arguments of flashwright_merge: two attention results over disjoint sets of keys, a and b, and where the joint one
 * goes. out and lse may be identical to one side's.
 */
typedef struct flashwright_merge_args {
    flashwright_tensor out_a; /**< Read: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse_a; /**< Read: softmax_lse of a, [batch, heads, seqlen_q]; -inf: the row of a is ignored. */
    flashwright_tensor out_b; /**< Read: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse_b; /**< Read: softmax_lse of b, likewise. */
    flashwright_tensor out;   /**< Written: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse;   /**< Written: [batch, heads, seqlen_q]. */
} flashwright_merge_args;

/**
 * Joins two attention results over disjoint sets of keys, exactly.
 *
 * lse = log(exp(lse_a) + exp(lse_b)), and out is the mean of the two weighted by exp(lse_a - lse) and exp(lse_b - lse)
 * (Dao et al. 2022, section 3.1). A side with lse -inf is ignored, whatever its out holds.
 * @param args All tensors are required.
 * @param execution How it runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_merge(const flashwright_merge_args *args,
                                                     const flashwright_execution *execution);

/**
 * Arguments of flashwright_online_softmax_step. The empty state is m = -inf, l = 0, acc = 0; *_out may be identical to
 * the inputs.
 */
typedef struct flashwright_step_args {
    flashwright_tensor m;       /**< Read: the largest score so far, [batch, heads, seqlen_q]. */
    flashwright_tensor l;       /**< Read: sum of exp(score - m), [batch, heads, seqlen_q]. */
    flashwright_tensor acc;     /**< Read: sum of exp(score - m) v, [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor scores;  /**< Read: scaled, in natural units, [batch, heads, seqlen_q, block]; -inf hides. */
    flashwright_tensor v;       /**< Read: [batch, heads_kv, block, head_dim_v]. */
    flashwright_tensor m_out;   /**< Written: shape of m. */
    flashwright_tensor l_out;   /**< Written: shape of l. */
    flashwright_tensor acc_out; /**< Written: shape of acc. */
} flashwright_step_args;

/**
 * One step of the online softmax: takes one block of keys into the state.
 *
 * After the last block attention is acc / l and softmax_lse is m + log(l) (Dao et al. 2022, algorithm 1, without the
 * division).
 * @param args All tensors are required.
 * @param execution How it runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_online_softmax_step(const flashwright_step_args *args,
                                                                   const flashwright_execution *execution);

/** An instruction set that this build has kernels for. Strings live as long as the library. */
typedef struct flashwright_isa_info {
    const char *name;        /**< baseline, sse41, avx2, avx512; neon. */
    const char *description; /**< One line. */
    const char *features;    /**< Required CPU features, separated by commas; empty for baseline. */
    int32_t usable;          /**< 1: this CPU and operating system can run it. */
    int32_t chosen;          /**< 1: the one used when nothing else is said (FLASHWRIGHT_ISA caps it). */
} flashwright_isa_info;

/** A kernel of this build. Strings live as long as the library. */
typedef struct flashwright_kernel_info {
    const char *name;        /**< E.g. forward_f32_avx512_v0. */
    const char *op;          /**< forward, backward, merge, step. */
    flashwright_dtype dtype; /**< FLASHWRIGHT_F32 or FLASHWRIGHT_F64. */
    const char *isa;         /**< Name of its instruction set. */
    const char *terms;       /**< Score terms compiled in besides scale and position: "", or separated by commas. */
    const char *tiles;       /**< JSON object of the tile parameters. */
    int32_t generic;         /**< 1: takes any shape, stride and key_block. */
} flashwright_kernel_info;

/**
 * The version of the library.
 * @return As "0.1.0".
 */
FLASHWRIGHT_API const char *flashwright_version(void);

/**
 * The configuration the kernels were built from, and its files.
 * @return A JSON object.
 */
FLASHWRIGHT_API const char *flashwright_config_json(void);

/**
 * What threads = 0 means: FLASHWRIGHT_THREADS of the environment, else the processors this process may use.
 * @return 1 to 1024; 0 where FLASHWRIGHT_THREADS is no number in that range. Decided once.
 */
FLASHWRIGHT_API int32_t flashwright_default_threads(void);

/**
 * How many instruction sets this build has kernels for.
 * @return 1 or more.
 */
FLASHWRIGHT_API int32_t flashwright_isa_count(void);

/**
 * One of the instruction sets, best last.
 * @param index From 0 to flashwright_isa_count() - 1.
 * @return Zeroed when the index is out of range.
 */
FLASHWRIGHT_API flashwright_isa_info flashwright_isa(int32_t index);

/**
 * How many kernels this build has.
 * @return 1 or more.
 */
FLASHWRIGHT_API int32_t flashwright_kernel_count(void);

/**
 * One of the kernels.
 * @param index From 0 to flashwright_kernel_count() - 1.
 * @return Zeroed when the index is out of range.
 */
FLASHWRIGHT_API flashwright_kernel_info flashwright_kernel(int32_t index);

/**
 * Which kernel flashwright_forward would take for these arguments, and in one line why.
 * @param args Shapes, strides and options count; data pointers may be NULL.
 * @param execution As for the call; NULL: the defaults.
 * @param[out] kernel An index into flashwright_kernel, or -1 if the status is not FLASHWRIGHT_OK; may be NULL.
 * @param[out] reason One line, zero-terminated, cut off at `reason_size`; may be NULL.
 * @param reason_size Bytes that `reason` holds.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_forward_choice(const flashwright_forward_args *args,
                                                              const flashwright_execution *execution, int32_t *kernel,
                                                              char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif
#endif
