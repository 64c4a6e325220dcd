// Which kernel serves a call.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>

#include "kernel_abi.h"
#include "validate.h"

namespace flashwright {

// What a call asks of its kernel. Batch, heads and threads are not here: the same rows get the same kernel, and with it
// the same bytes, wherever they stand.
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
    int index = -1;  // into kKernels
    // For the last tile where a smaller one holds the rows that are left over, else the same.
    int last_index = -1;
    enum class Why { forced, environment, exact_row, nearest_row, default_variant, generic } why = Why::default_variant;
    const TableRow *row = nullptr;   // what decided, for the two rows
    const char *obstacle = nullptr;  // of the tuned kernels, for generic; may be null
};

// The rule: the kernel that the call or else FLASHWRIGHT_KERNEL names; else the best ISA (or the one forced) that has a
// kernel that fits; there the fewest score terms that suffice; among those variants the tuned row of this very shape,
// else the nearest one, else the first variant listed. Where no tuned kernel fits, the generic one. Rows that fill no
// tile of the variant go to the kernel of its ISA that costs the least for them, unless a kernel was forced.
flashwright_status choose_kernel(const KernelRequest &request, const flashwright_execution &execution,
                                 KernelChoice *choice);

// What `rows` cost by a forward kernel, in rows of whole tiles of a kernel with rows across the lanes; measured where K
// and V come from the caches.
double row_cost(const Kernel &kernel, std::int64_t rows);

// The kernel for the rows that fill no tile of `usual`, which need not be of the registry: the cheapest.
const Kernel &left_over_kernel(const KernelRequest &request, const Kernel &usual);

// What flashwright_forward_choice and flashwright_backward_choice answer: the kernel's index and the reason in one
// line; -1 and "" until there is a choice. Either may be null.
void clear_choice(std::int32_t *kernel, char *reason, std::size_t reason_size);
flashwright_status report_choice(const KernelRequest &request, const flashwright_execution &execution,
                                 std::int32_t *kernel, char *reason, std::size_t reason_size);

// Null if the kernel can take the call, else why not.
const char *obstacle_to(const Kernel &kernel, const KernelRequest &request);

}  // namespace flashwright
