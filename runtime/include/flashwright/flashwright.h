/**
 * @file
 * The C interface of flashwright: exact attention kernels, generated and tuned for the machine they run on.
 *
 * This is the whole interface of the library; flashwright.hpp is a thin C++ layer over it. Rules for all calls:
 *
 * - Tensors are non-owning views: a pointer, a shape and strides in elements. Rank 4 is [batch, heads, seqlen,
 *   head_dim]. Rank 3 is [heads, seqlen, head_dim] and rank 2 is [seqlen, head_dim]; missing axes have extent 1.
 *   Tensors with one value per query row (softmax_lse, m, l) lack the last axis, so their rank is 3 to 1.
 * - Inputs may have any strides, including 0 and negative ones, and may overlap each other. Outputs must not overlap
 *   themselves, each other, or an input (merge and step accept an output that is identical to its input).
 * - All tensors of a call are F32, or all are F64, unless a dtype is given for a tensor. Lengths, strides and diagonals
 *   count elements. Scores are in natural units, not in powers of two. F16 attention is computed in F32, and its
 *   softmax_lse and alibi_slopes are F32.
 * - Every call checks all its arguments first. If the status is not FLASHWRIGHT_OK, no output has been written.
 * - Lengths are at most 2^30 and head dimensions are 1 to 2^24. batch, heads and lengths may be 0; heads_kv may not.
 *   The keys and the values of one head must each span less than 2^31 elements, and so must the rows of one tile in
 *   every other tensor. Strides between heads and batch entries may be larger.
 * - The library never prints, aborts or throws. All functions may be called from several threads at the same time.
 *
 * The algorithm is the blocked online softmax of Dao, Fu, Ermon, Rudra, Ré, "FlashAttention: Fast and Memory-Efficient
 * Exact Attention with IO-Awareness" (2022), section 3.1 and appendix B.
 */
#ifndef FLASHWRIGHT_FLASHWRIGHT_H
#define FLASHWRIGHT_FLASHWRIGHT_H

#include <stddef.h>
#include <stdint.h>

/** Marks a function that the shared library exports. */
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
    FLASHWRIGHT_F16 = 4   /**< IEEE binary16; only for attention on GPUs, since it has no CPU kernels. */
} flashwright_dtype;

/** A view of memory that the caller owns. It needs no more than the alignment of its elements. */
typedef struct flashwright_tensor {
    void *data;              /**< The element with all indices 0. NULL: not given, where that is allowed. */
    flashwright_dtype dtype; /**< Type of the elements. */
    int32_t rank;            /**< Number of axes, 1 to 4. */
    int64_t shape[4];        /**< Extents, 0 or more; the first `rank` entries are used. */
    int64_t strides[4];      /**< In elements, any sign; the first `rank` entries are used. Ignored for extent 1. */
} flashwright_tensor;

/** The result of a call. */
typedef enum flashwright_code {
    FLASHWRIGHT_OK = 0,               /**< Success: all outputs are written. */
    FLASHWRIGHT_INVALID_ARGUMENT = 1, /**< The message says which argument, what was expected and what was given. */
    FLASHWRIGHT_UNSUPPORTED = 2,      /**< A valid request that this build or CPU does not support, or past a limit. */
    FLASHWRIGHT_OUT_OF_MEMORY = 3,    /**< Working memory could not be allocated. */
    FLASHWRIGHT_DEVICE_ERROR = 4      /**< GPU backends: no driver or device, or an error of it; see the message. */
} flashwright_code;

/** The return value of every call. */
typedef struct flashwright_status {
    flashwright_code code; /**< FLASHWRIGHT_OK, or the kind of error. */
    char message[316];     /**< Empty on FLASHWRIGHT_OK; one line, zero-terminated. */
} flashwright_status;

/** Position of the diagonal, which causal, the window and ALiBi refer to. */
typedef enum flashwright_align {
    FLASHWRIGHT_ALIGN_DEFAULT = 0,     /**< Top-left, unless `diagonal` is given. */
    FLASHWRIGHT_ALIGN_TOP_LEFT = 1,    /**< Query i meets key i. */
    FLASHWRIGHT_ALIGN_BOTTOM_RIGHT = 2 /**< The last query meets the last key of its batch entry. */
} flashwright_align;

/**
 * The score terms, applied in this order: dot product * softmax_scale, soft cap, ALiBi and bias, masks.
 *
 * A masked key (by causal, window, key length, mask, or a bias of -inf) contributes nothing, whatever values K and V
 * have there. A score of -inf has weight 0; if a row has only such scores, all its keys count as masked. Set the
 * defaults with flashwright_forward_args_init: zeroed memory has windows of 0, which mask all keys off the diagonal.
 */
typedef struct flashwright_score_options {
    const double *softmax_scale; /**< Factor of the dot products, any finite value; NULL: 1/sqrt(head_dim). */
    int32_t causal;          /**< 1: keys after the diagonal are masked and window_right is ignored; 0: not causal. */
    flashwright_align align; /**< Position of the diagonal. */
    const int64_t *diagonal; /**< Not NULL: query i meets key i + *diagonal, and align must be DEFAULT. */
    int64_t window_left;     /**< Number of unmasked keys before the diagonal; -1: no limit. */
    int64_t window_right;    /**< Number of unmasked keys after the diagonal; -1: no limit. */
    double softcap;          /**< c > 0, normal in the dtype: a score becomes c * tanh(score / c). 0: none. */
    const flashwright_tensor *key_lengths; /**< I32 [batch], 0 to seqlen_k: number of keys; later keys are ignored. */
    const flashwright_tensor *bias; /**< Added to the scores. Dtype of Q, [batch|1, heads|1, seqlen_q|1, seqlen_k];
                                       lower ranks lack the first axes. NULL: none. */
    const flashwright_tensor *mask; /**< BOOL, shapes as bias: false masks a key. NULL: none. */
    const flashwright_tensor *alibi_slopes; /**< Dtype of Q, [heads]: adds -slope * |key - key of the diagonal|. */
} flashwright_score_options;

/** How a call runs. Zero-initialised members are the defaults. */
typedef struct flashwright_execution {
    int32_t threads; /**< At most 1024; 0: flashwright_default_threads(). */
    /** Forces an instruction set by name (see flashwright_isa). NULL: the best usable one, at most FLASHWRIGHT_ISA if
     * that environment variable is set. */
    const char *isa;
    /** Forces a kernel by name (see flashwright_kernel). NULL: the one in the environment variable FLASHWRIGHT_KERNEL,
     * or else chosen by shape. */
    const char *kernel;
    /**
     * N >= 1, at most 2^24, forces blocks of N keys and the generic kernel; `kernel` must then be NULL. 0: the kernel's
     * own block size. Only forward uses it; other calls only check it.
     */
    int64_t key_block;
    /**
     * The caller's thread pool; NULL: the library's threads.
     *
     * Must run task(task_context, index) once for every index with 0 <= index < count, on any threads, and return when
     * all are done. `count` is at most `threads`, and smaller for small calls. The tasks distribute the work among
     * themselves, so they may also run one after the other.
     */
    void (*parallel_for)(void *pool_context, int64_t count, void (*task)(void *task_context, int64_t index),
                         void *task_context);
    void *pool_context; /**< Passed to parallel_for. */
    /** The caller's allocator, used if not NULL. Returns memory aligned to `alignment`, a power of two <= 128, or NULL
     * on failure. Needs deallocate. */
    void *(*allocate)(void *memory_context, size_t bytes, size_t alignment);
    /** Frees a block of allocate; `bytes` is its size. Needs allocate. */
    void (*deallocate)(void *memory_context, void *block, size_t bytes);
    void *memory_context; /**< Passed to allocate and deallocate. */
    /**
     * Optional output: the name of the kernel that ran. NULL: not wanted.
     *
     * Written on FLASHWRIGHT_OK, also if there was nothing to compute; otherwise left alone. It is the kernel that
     * flashwright_forward_choice and flashwright_backward_choice return. In forward, the rows after the last whole tile
     * may use another kernel of the same instruction set. The string lives as long as the library. Calls that run at
     * the same time must not share the pointer's target.
     */
    const char **kernel_used;
} flashwright_execution;

/**
 * Arguments of flashwright_forward.
 *
 * F32 or F64 for all tensors. heads is a multiple of heads_kv: query head h uses key head h / (heads / heads_kv).
 */
typedef struct flashwright_forward_args {
    flashwright_tensor q;            /**< Read: [batch, heads, seqlen_q, head_dim]. */
    flashwright_tensor k;            /**< Read: [batch, heads_kv, seqlen_k, head_dim]. */
    flashwright_tensor v;            /**< Read: [batch, heads_kv, seqlen_k, head_dim_v]. */
    flashwright_tensor out;          /**< Written: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor softmax_lse;  /**< Written, optional: [batch, heads, seqlen_q]; the natural logarithm of the sum
                                        of exp(score) over a row. */
    flashwright_score_options score; /**< Score terms and masks. */
} flashwright_forward_args;

/**
 * Sets the defaults: no tensors, no score terms, no masks, windows of -1.
 * @param[out] args Overwritten.
 */
FLASHWRIGHT_API void flashwright_forward_args_init(flashwright_forward_args *args);

/**
 * Attention forward: out = softmax(score(Q K^T)) V for every row, and softmax_lse.
 *
 * If all keys of a row are masked, its out is 0 and its softmax_lse is -inf. Algorithm: blocked online softmax, Dao et
 * al. (2022), section 3.1.
 * @param args Tensors and options; initialise with flashwright_forward_args_init.
 * @param execution How the call runs; NULL: the defaults.
 * @return FLASHWRIGHT_OK; FLASHWRIGHT_INVALID_ARGUMENT for shapes, dtypes or strides that do not match, outputs that
 *     overlap another tensor, and options out of range; FLASHWRIGHT_UNSUPPORTED past a limit or for a forced kernel
 * that cannot serve the call; FLASHWRIGHT_OUT_OF_MEMORY.
 */
FLASHWRIGHT_API flashwright_status flashwright_forward(const flashwright_forward_args *args,
                                                       const flashwright_execution *execution);

/**
 * Arguments of flashwright_backward: inputs and outputs of forward, dout, and the gradients.
 *
 * All tensors are required, except dbias.
 */
typedef struct flashwright_backward_args {
    flashwright_tensor q;            /**< Read: [batch, heads, seqlen_q, head_dim]. */
    flashwright_tensor k;            /**< Read: [batch, heads_kv, seqlen_k, head_dim]. */
    flashwright_tensor v;            /**< Read: [batch, heads_kv, seqlen_k, head_dim_v]. */
    flashwright_tensor out;          /**< Read: output of forward, [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor softmax_lse;  /**< Read: output of forward, [batch, heads, seqlen_q]. */
    flashwright_tensor dout;         /**< Read: the gradient of out, in its shape. */
    flashwright_tensor dq;           /**< Written: shape of q. */
    flashwright_tensor dk;           /**< Written: shape of k; summed over the query heads that share a key head. */
    flashwright_tensor dv;           /**< Written: shape of v; summed as dk. */
    flashwright_tensor dbias;        /**< Written, optional, only with a bias: shape of the bias. */
    flashwright_score_options score; /**< The same as in forward. */
} flashwright_backward_args;

/**
 * Sets the defaults: no tensors, no score terms, no masks, windows of -1.
 * @param[out] args Overwritten.
 */
FLASHWRIGHT_API void flashwright_backward_args_init(flashwright_backward_args *args);

/**
 * The gradients of attention with respect to q, k, v and the bias.
 *
 * With P = softmax(score(Q K^T)) recomputed from softmax_lse (Dao et al. 2022, appendix B):
 *
 *     dv = P^T dout; dP = dout V^T; delta = rowsum(dout * out); dS = P * (dP - delta);
 *     dq = softmax_scale * dS' K, dk = softmax_scale * dS'^T Q, dS' = dS * (1 - tanh^2) under a soft cap, else dS;
 *     dbias = dS, summed over the axes on which bias has extent 1.
 *
 * Rows whose keys are all masked, and keys that are masked for every row, get gradients of exactly 0. Outputs are
 * overwritten, not added to. P inherits the rounding error of softmax_lse, |lse| * 2^-24 (F32) or |lse| * 2^-53 (F64).
 * So mask keys with mask, key_lengths or a bias of -inf, not with a bias of -1e9.
 * @param args Tensors and options; initialise with flashwright_backward_args_init.
 * @param execution How the call runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_backward(const flashwright_backward_args *args,
                                                        const flashwright_execution *execution);

/**
 * The kernel that flashwright_backward would use for these arguments, and the reason in one line.
 * @param args As for the call, but only shapes, strides and options are used; data pointers may be NULL.
 * @param execution As for the call; NULL: the defaults.
 * @param[out] kernel An index into flashwright_kernel, or -1 if the status is not FLASHWRIGHT_OK; may be NULL.
 * @param[out] reason One line, zero-terminated, truncated to `reason_size` bytes; may be NULL.
 * @param reason_size Size of `reason` in bytes.
 * @return As flashwright_backward.
 */
FLASHWRIGHT_API flashwright_status flashwright_backward_choice(const flashwright_backward_args *args,
                                                               const flashwright_execution *execution, int32_t *kernel,
                                                               char *reason, size_t reason_size);

/**
 * Arguments of flashwright_merge: two attention results over disjoint sets of keys, a and b, and the merged result.
 * out and lse may be identical to the tensors of one side.
 */
typedef struct flashwright_merge_args {
    flashwright_tensor out_a; /**< Read: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse_a; /**< Read: softmax_lse of a, [batch, heads, seqlen_q]. -inf: the row of a is ignored. */
    flashwright_tensor out_b; /**< Read: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse_b; /**< Read: softmax_lse of b, [batch, heads, seqlen_q]. -inf: the row of b is ignored. */
    flashwright_tensor out;   /**< Written: [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor lse;   /**< Written: [batch, heads, seqlen_q]. */
} flashwright_merge_args;

/**
 * Merges two attention results over disjoint sets of keys, exactly.
 *
 * lse = log(exp(lse_a) + exp(lse_b)) and out = exp(lse_a - lse) * out_a + exp(lse_b - lse) * out_b (Dao et al. 2022,
 * section 3.1). In a row with lse_a = -inf, out_a is ignored whatever its values are; the same holds for b.
 * @param args All tensors are required.
 * @param execution How the call runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_merge(const flashwright_merge_args *args,
                                                     const flashwright_execution *execution);

/**
 * Arguments of flashwright_online_softmax_step. The initial state is m = -inf, l = 0, acc = 0. Each *_out may be
 * identical to its input.
 */
typedef struct flashwright_step_args {
    flashwright_tensor m;       /**< Read: the largest score so far, [batch, heads, seqlen_q]. */
    flashwright_tensor l;       /**< Read: sum of exp(score - m), [batch, heads, seqlen_q]. */
    flashwright_tensor acc;     /**< Read: sum of exp(score - m) v, [batch, heads, seqlen_q, head_dim_v]. */
    flashwright_tensor scores;  /**< Read: scaled scores, [batch, heads, seqlen_q, block]; -inf masks a key. */
    flashwright_tensor v;       /**< Read: [batch, heads_kv, block, head_dim_v]. */
    flashwright_tensor m_out;   /**< Written: shape of m. */
    flashwright_tensor l_out;   /**< Written: shape of l. */
    flashwright_tensor acc_out; /**< Written: shape of acc. */
} flashwright_step_args;

/**
 * One step of the online softmax: updates the state with one block of keys.
 *
 * After the last block, the attention output is acc / l and softmax_lse is m + log(l) (Dao et al. 2022, algorithm 1,
 * without the division).
 * @param args All tensors are required.
 * @param execution How the call runs; NULL: the defaults.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_online_softmax_step(const flashwright_step_args *args,
                                                                   const flashwright_execution *execution);

/** An instruction set for which this build has kernels. Strings live as long as the library. */
typedef struct flashwright_isa_info {
    const char *name;        /**< For example baseline, sse41, avx2, avx512 or neon. */
    const char *description; /**< One line. */
    const char *features;    /**< Required CPU features, separated by commas; empty for baseline. */
    int32_t usable;          /**< 1: this CPU and operating system support it. */
    int32_t chosen;          /**< 1: the default, which FLASHWRIGHT_ISA may cap. */
} flashwright_isa_info;

/** A kernel of this build. Strings live as long as the library. */
typedef struct flashwright_kernel_info {
    const char *name;        /**< For example forward_f32_avx512_v0. */
    const char *op;          /**< forward, backward, merge, step. */
    flashwright_dtype dtype; /**< Dtype of the tensors: FLASHWRIGHT_F32 or FLASHWRIGHT_F64. */
    const char *isa;         /**< Name of its instruction set. */
    const char *terms;       /**< Score terms besides scale and position, separated by commas; may be "". */
    const char *tiles;       /**< Tile parameters, a JSON object. */
    int32_t generic;         /**< 1: supports any shape, stride and key_block. */
} flashwright_kernel_info;

/**
 * The version of the library.
 * @return For example "0.1.0".
 */
FLASHWRIGHT_API const char *flashwright_version(void);

/**
 * The configuration from which the kernels were built, and its files.
 * @return A JSON object.
 */
FLASHWRIGHT_API const char *flashwright_config_json(void);

/**
 * The number of threads for threads = 0: the environment variable FLASHWRIGHT_THREADS, or else the number of processors
 * that this process may use. Determined once.
 * @return 1 to 1024; 0 if FLASHWRIGHT_THREADS is not a number in that range.
 */
FLASHWRIGHT_API int32_t flashwright_default_threads(void);

/**
 * The number of instruction sets for which this build has kernels.
 * @return 1 or more.
 */
FLASHWRIGHT_API int32_t flashwright_isa_count(void);

/**
 * One of the instruction sets. The best is the last.
 * @param index From 0 to flashwright_isa_count() - 1.
 * @return Zeroed if the index is out of range.
 */
FLASHWRIGHT_API flashwright_isa_info flashwright_isa(int32_t index);

/**
 * The number of kernels in this build.
 * @return 1 or more.
 */
FLASHWRIGHT_API int32_t flashwright_kernel_count(void);

/**
 * One of the kernels.
 * @param index From 0 to flashwright_kernel_count() - 1.
 * @return Zeroed if the index is out of range.
 */
FLASHWRIGHT_API flashwright_kernel_info flashwright_kernel(int32_t index);

/**
 * The kernel that flashwright_forward would use for these arguments, and the reason in one line.
 * @param args As for the call, but only shapes, strides and options are used; data pointers may be NULL.
 * @param execution As for the call; NULL: the defaults.
 * @param[out] kernel An index into flashwright_kernel, or -1 if the status is not FLASHWRIGHT_OK; may be NULL.
 * @param[out] reason One line, zero-terminated, truncated to `reason_size` bytes; may be NULL.
 * @param reason_size Size of `reason` in bytes.
 * @return As flashwright_forward.
 */
FLASHWRIGHT_API flashwright_status flashwright_forward_choice(const flashwright_forward_args *args,
                                                              const flashwright_execution *execution, int32_t *kernel,
                                                              char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif
#endif
