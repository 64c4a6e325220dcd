// Which kernel serves a call.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>

#include "kernel_abi.h"
#include "validate.h"

namespace flashwright {

// The properties of a call that decide its kernel. Batch, heads and threads are not among them: the same rows get the
// same kernel, and so the same bytes, in every batch and for any number of threads.
struct KernelRequest {
    Op op = Op::forward;
    flashwright_dtype dtype = FLASHWRIGHT_F32;
    unsigned terms = 0;
    bool generic_only = false;  // key_block is forced
    std::int64_t seqlen_q = 0, seqlen_k = 0, head_dim = 0, head_dim_v = 0;
    bool causal = false;
    bool unit_channel_strides = true;  // of q, k, v and out
};
bool operator==(const KernelRequest &a, const KernelRequest &b);

KernelRequest attention_request(Op op, const ForwardProblem &problem);

struct KernelChoice {
    int index = -1;       // of the main kernel, into kKernels
    int tail_index = -1;  // of the kernel for the rows after the last whole tile; may be the same
    enum class Why {
        forced,
        environment,
        exact_row,
        nearest_row,
        baseline_variant,
        generic
    } why = Why::baseline_variant;
    const TableRow *row = nullptr;        // for exact_row and nearest_row
    const char *why_not_tuned = nullptr;  // for generic: why no tuned kernel was possible; may be null
};

// The rule:
//   1. The kernel that the call names, or else FLASHWRIGHT_KERNEL.
//   2. Otherwise the forced ISA, or the best one that has a kernel for the call. Of its kernels those with the fewest
//      score terms that suffice. Of these the variant in the tuned row of this shape, or of the nearest shape, or else
//      the first variant listed.
//   3. The generic kernel, if the ISA has no tuned one for the call.
// Rows after the last whole tile go to the tail kernel: the cheapest of the same ISA. A named kernel computes all rows.
flashwright_status choose_kernel(const KernelRequest &request, const flashwright_execution &execution,
                                 KernelChoice *choice);

// The time of a forward kernel for `rows` rows. The unit is the time of one row in a whole tile of a kernel with rows
// across the lanes. Measured with K and V in the caches.
double row_cost(const Kernel &kernel, std::int64_t rows);

// The cheapest kernel for the rows after the last whole tile of `main_kernel`, which need not be in the registry.
const Kernel &choose_tail_kernel(const KernelRequest &request, const Kernel &main_kernel);

// The answer of flashwright_forward_choice and flashwright_backward_choice: the kernel's index, and the reason in one
// line; -1 and "" until there is a choice. Either may be null.
void clear_choice(std::int32_t *kernel, char *reason, std::size_t reason_size);
void report_choice(const KernelRequest &request, const KernelChoice &choice, std::int32_t *kernel, char *reason,
                   std::size_t reason_size);

// Stores the kernel's name where the caller wants it.
inline void report_kernel(const flashwright_execution &execution, const Kernel &kernel) {
    if (execution.kernel_used != nullptr) *execution.kernel_used = kernel.name;
}

// forward, backward, merge, step.
const char *op_name(Op op);

// Null if the kernel can serve the call.
const char *why_unsupported(const Kernel &kernel, const KernelRequest &request);

}  // namespace flashwright
