#include "kernel_choice.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <tuple>

#include "choice_memo.h"
#include "cpu_isa.h"
#include "kernel_override.h"
#include "status.h"

namespace flashwright {
namespace {

// A row is ignored if its shape differs from the call's by more than this factor on one axis.
constexpr double kFarLogRatio = 1.3862943611198906;  // ln 4

bool matches(const Kernel &kernel, const KernelRequest &request) {
    return kernel.op == request.op && kernel.dtype == request.dtype;
}

// The kernels of one ISA that fit the call and have the fewest terms.
struct Candidates {
    int first = -1;                 // in the order of the registry
    unsigned terms = 0;             // of all of them
    const char *why_not = nullptr;  // reason of a kernel that does not fit; may be null

    bool contains(const Kernel &kernel, const KernelRequest &request, const char *isa_name) const {
        return matches(kernel, request) && !kernel.is_generic() && kernel.terms == terms &&
               std::strcmp(kernel.isa, isa_name) == 0 && why_unsupported(kernel, request) == nullptr;
    }
};

Candidates find_candidates(const KernelRequest &request, const char *isa_name, bool generic) {
    Candidates found;
    for (int i = 0; i < kKernelCount; ++i) {
        const Kernel &kernel = kKernels[i];
        if (!matches(kernel, request) || kernel.is_generic() != generic || std::strcmp(kernel.isa, isa_name) != 0)
            continue;
        if (const char *why = why_unsupported(kernel, request)) {
            // A reason of a decode kernel says nothing about kernels for more rows.
            if (!kernel.is_decode()) found.why_not = why;
        } else if (found.first < 0 || __builtin_popcount(kernel.terms) < __builtin_popcount(found.terms)) {
            found.first = i;
            found.terms = kernel.terms;
        }
    }
    return found;
}

struct Distance {
    double sum = 0.0;
    bool far = false;
};

Distance distance(const TableRow &row, const KernelRequest &request) {
    Distance result;
    const std::int64_t pairs[][2] = {
        {request.seqlen_q, row.seqlen_q}, {request.seqlen_k, row.seqlen_k}, {request.head_dim, row.head_dim}};
    for (const auto &[asked, tuned] : pairs) {
        const double ratio = std::log(static_cast<double>(std::max<std::int64_t>(asked, 1)) /
                                      static_cast<double>(std::max<std::int64_t>(tuned, 1)));
        result.sum += std::fabs(ratio);
        result.far = result.far || std::fabs(ratio) > kFarLogRatio;
    }
    return result;
}

int find_variant(const Candidates &candidates, const KernelRequest &request, const TableRow &row) {
    for (int i = 0; i < kKernelCount; ++i) {
        if (std::strcmp(kKernels[i].variant, row.variant) == 0 && candidates.contains(kKernels[i], request, row.isa)) {
            return i;
        }
    }
    return -1;
}

bool nearer(const Distance &distance, const TableRow &row, const Distance &best_distance, const TableRow &best) {
    if (distance.sum != best_distance.sum) return distance.sum < best_distance.sum;
    if (row.ratio != best.ratio) return row.ratio < best.ratio;
    return std::strcmp(row.variant, best.variant) < 0;
}

KernelChoice look_up(const Candidates &candidates, const KernelRequest &request, const char *isa_name) {
    KernelChoice choice;
    choice.index = candidates.first;
    if (candidates.terms != 0) return choice;  // shapes are tuned without terms
    Distance best;
    for (int i = 0; i < kTableCount; ++i) {
        const TableRow &row = kTable[i];
        if (row.op != request.op || row.dtype != request.dtype || row.causal != request.causal ||
            std::strcmp(row.isa, isa_name) != 0) {
            continue;
        }
        const Distance apart = distance(row, request);
        if (apart.far || (choice.row != nullptr && !nearer(apart, row, best, *choice.row))) continue;
        const int index = find_variant(candidates, request, row);
        if (index < 0) continue;
        choice.index = index;
        choice.row = &row;
        choice.why = apart.sum == 0.0 ? KernelChoice::Why::exact_row : KernelChoice::Why::nearest_row;
        best = apart;
    }
    return choice;
}

std::int64_t tiles_of(const Kernel &kernel, std::int64_t rows) {
    return (rows + kernel.tiles.block_q - 1) / kernel.tiles.block_q;
}

// The kernel of the main kernel's ISA with the lowest cost for `rows`. Ties are broken by fewer terms, then by fewer
// and smaller tiles.
const Kernel &cheapest_kernel(const KernelRequest &request, const Kernel &main_kernel, std::int64_t rows) {
    const auto rank = [&](const Kernel &kernel) {
        return std::make_tuple(row_cost(kernel, rows), __builtin_popcount(kernel.terms), tiles_of(kernel, rows),
                               kernel.tiles.block_q);
    };
    const Kernel *best = &main_kernel;
    for (int i = 0; i < kKernelCount; ++i) {
        const Kernel &kernel = kKernels[i];
        const bool fits = matches(kernel, request) && !kernel.is_generic() &&
                          std::strcmp(kernel.isa, main_kernel.isa) == 0 && why_unsupported(kernel, request) == nullptr;
        if (fits && rank(kernel) < rank(*best)) best = &kernel;
    }
    return *best;
}

int index_of(const Kernel &kernel) { return static_cast<int>(&kernel - kKernels); }

KernelChoice choose_in_isa(const KernelRequest &request, const char *isa_name) {
    const Candidates tuned = find_candidates(request, isa_name, false);
    if (tuned.first >= 0) {
        KernelChoice choice = look_up(tuned, request, isa_name);
        choice.tail_index = choice.index;
        if (request.op != Op::forward) return choice;
        if (request.seqlen_q < kKernels[choice.index].tiles.block_q) {
            choice.index = index_of(cheapest_kernel(request, kKernels[choice.index], request.seqlen_q));
        }
        choice.tail_index = index_of(choose_tail_kernel(request, kKernels[choice.index]));
        return choice;
    }
    KernelChoice choice;
    choice.index = choice.tail_index = find_candidates(request, isa_name, true).first;
    choice.why = KernelChoice::Why::generic;
    choice.why_not_tuned = tuned.why_not;
    return choice;
}

// Checks that a forced kernel can serve the call. `source` is the argument or environment variable that names it.
flashwright_status require_kernel(const KernelRequest &request, const flashwright_execution &execution, int index,
                                  const char *source) {
    const Kernel &kernel = kKernels[index];
    if (!matches(kernel, request)) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected a kernel for %s of %s, got %s", source,
                           op_name(request.op), dtype_name(request.dtype), kernel.name);
    }
    if (execution.isa != nullptr && std::strcmp(kernel.isa, execution.isa) != 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "%s: expected a kernel of isa %s, got %s", source,
                           execution.isa, kernel.name);
    }
    const int isa_index = find_isa_index(kernel.isa);
    if (isa_index < 0 || !isa(isa_index).usable) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "%s: %s cannot run on this CPU, which lacks %s", source,
                           kernel.name, isa_index < 0 ? kernel.isa : isa(isa_index).missing);
    }
    if (const char *why = why_unsupported(kernel, request)) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "%s: %s cannot take this call: %s", source, kernel.name, why);
    }
    return ok_status();
}

flashwright_status choose_by_name(const KernelRequest &request, const flashwright_execution &execution,
                                  KernelChoice *choice) {
    const int index = find_kernel(execution.kernel);
    if (index < 0) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                           "kernel: expected the name of a kernel of this build, got '%s'", execution.kernel);
    }
    choice->index = choice->tail_index = index;
    choice->why = KernelChoice::Why::forced;
    return require_kernel(request, execution, index, "kernel");
}

flashwright_status choose_by_shape(const KernelRequest &request, const flashwright_execution &execution,
                                   KernelChoice *choice) {
    static thread_local ChoiceMemo memo;
    const int best = execution.isa != nullptr ? find_isa_index(execution.isa) : default_isa().index;
    const int worst = execution.isa != nullptr ? best : 0;
    const int key = best + (execution.isa != nullptr ? isa_count() : 0);
    if (const KernelChoice *known = memo.find(request, key)) {
        *choice = *known;
        return ok_status();
    }
    for (int i = best; i >= worst; --i) {
        *choice = choose_in_isa(request, isa(i).name);
        if (choice->index < 0) continue;
        memo.keep(request, key, *choice);
        return ok_status();
    }
    if (execution.isa == nullptr && best < 0) return default_isa().status;
    return make_status(FLASHWRIGHT_UNSUPPORTED,
                       "this build has no kernel for %s of %s on %s that can take this call%s%s", op_name(request.op),
                       dtype_name(request.dtype), isa(best).name, choice->why_not_tuned != nullptr ? ": " : "",
                       choice->why_not_tuned != nullptr ? choice->why_not_tuned : "");
}

void describe_choice(const KernelRequest &request, const KernelChoice &choice, char *text, std::size_t size) {
    if (size == 0) return;
    text[0] = '\0';
    const Kernel &kernel = kKernels[choice.index];
    append(text, size, "%s: ", kernel.name);
    switch (choice.why) {
        case KernelChoice::Why::forced:
            append(text, size, "asked for by name");
            break;
        case KernelChoice::Why::environment:
            append(text, size, "asked for by FLASHWRIGHT_KERNEL");
            break;
        case KernelChoice::Why::exact_row:
            append(text, size, "tuned for this shape, %.3g of the baseline variant's time", choice.row->ratio);
            break;
        case KernelChoice::Why::nearest_row:
            append(text, size,
                   "tuned for the nearest shape, seqlen_q %" PRId64 ", seqlen_k %" PRId64 ", head_dim %" PRId64,
                   choice.row->seqlen_q, choice.row->seqlen_k, choice.row->head_dim);
            break;
        case KernelChoice::Why::baseline_variant:
            append(text, size, "the baseline variant of %s; no shape within a factor of 4 was tuned", kernel.isa);
            break;
        case KernelChoice::Why::generic:
            append(text, size, "the generic kernel of %s", kernel.isa);
            if (choice.why_not_tuned != nullptr)
                append(text, size, "; no tuned kernel can take this call: %s", choice.why_not_tuned);
            break;
    }
    if (choice.tail_index != choice.index)
        append(text, size, "; the rows after the last whole tile by %s", kKernels[choice.tail_index].name);
    if (request.terms != 0) append(text, size, "; has the score terms %s", kernel.terms_text);
}

}  // namespace

bool operator==(const KernelRequest &a, const KernelRequest &b) {
    const auto members = [](const KernelRequest &r) {
        return std::tie(r.op, r.dtype, r.terms, r.generic_only, r.seqlen_q, r.seqlen_k, r.head_dim, r.head_dim_v,
                        r.causal, r.unit_channel_strides);
    };
    return members(a) == members(b);
}

namespace {

// Names the terms of the vocabulary.
struct LacksTerm {
    char text[160] = {};

    constexpr LacksTerm() {
        std::size_t end = 0;
        const auto write = [&](const char *part) {
            while (*part != '\0') text[end++] = *part++;
        };
        constexpr std::size_t kCount = sizeof(kScoreTerms) / sizeof(*kScoreTerms);
        write("it lacks a score term (");
        for (std::size_t n = 0; n < kCount; ++n) {
            write(n == 0 ? "" : n + 1 < kCount ? ", " : " or ");
            write(kScoreTerms[n].name);
        }
        write(") of the call");
    }
};
constexpr LacksTerm kLacksTerm;

}  // namespace

const char *why_unsupported(const Kernel &kernel, const KernelRequest &request) {
    if ((request.terms & ~kernel.terms) != 0) return kLacksTerm.text;
    if (kernel.is_generic() || request.op != Op::forward) return nullptr;
    if (request.generic_only) return "key_block is given";
    if (request.seqlen_k < kernel.tiles.tile_k) return "seqlen_k is less than its tile_k";
    if (request.head_dim < kernel.tiles.tile_d) return "head_dim is less than its tile_d";
    if (kernel.is_decode() && request.head_dim % kernel.tiles.tile_d != 0)
        return "head_dim is not a multiple of its tile_d";
    if (request.head_dim_v < kernel.tiles.tile_d) return "head_dim_v is less than its tile_d";
    if (request.head_dim_v < kernel.tiles.tile_v) return "head_dim_v is less than its tile_v";
    if (!request.unit_channel_strides) return "the channel stride of q, k, v or out is not 1";
    return nullptr;
}

double row_cost(const Kernel &kernel, std::int64_t rows) {
    const CpuTiles &tiles = kernel.tiles;
    const double each = !kernel.is_decode() ? 1.0 : tiles.block_q == 1 ? std::min(4, tiles.tile_d) : 1.75;
    return static_cast<double>(tiles_of(kernel, rows) * tiles.block_q) * each;
}

const Kernel &choose_tail_kernel(const KernelRequest &request, const Kernel &main_kernel) {
    const std::int64_t rows = request.seqlen_q % main_kernel.tiles.block_q;
    return rows == 0 ? main_kernel : cheapest_kernel(request, main_kernel, rows);
}

flashwright_status choose_kernel(const KernelRequest &request, const flashwright_execution &execution,
                                 KernelChoice *choice) {
    if (default_isa().status.code == FLASHWRIGHT_INVALID_ARGUMENT) return default_isa().status;
    if (execution.isa != nullptr) {
        int forced = -1;
        const flashwright_status status = require_isa(execution.isa, &forced);
        if (failed(status)) return status;
    }
    if (execution.kernel != nullptr) return choose_by_name(request, execution, choice);
    const KernelOverride &override = kernel_override();
    if (failed(override.status)) return override.status;
    if (override.index >= 0 && matches(kKernels[override.index], request)) {
        choice->index = choice->tail_index = override.index;
        choice->why = KernelChoice::Why::environment;
        return require_kernel(request, execution, override.index, "environment variable FLASHWRIGHT_KERNEL");
    }
    return choose_by_shape(request, execution, choice);
}

KernelRequest attention_request(Op op, const ForwardProblem &problem) {
    KernelRequest request;
    request.op = op;
    request.dtype = problem.dtype;
    request.terms = problem.terms.terms();
    request.seqlen_q = problem.seqlen_q;
    request.seqlen_k = problem.seqlen_k;
    request.head_dim = problem.head_dim;
    request.head_dim_v = problem.head_dim_v;
    request.causal = problem.causal;
    return request;
}

void clear_choice(std::int32_t *kernel, char *reason, std::size_t reason_size) {
    if (kernel != nullptr) *kernel = -1;
    if (reason != nullptr && reason_size > 0) reason[0] = '\0';
}

void report_choice(const KernelRequest &request, const KernelChoice &choice, std::int32_t *kernel, char *reason,
                   std::size_t reason_size) {
    if (kernel != nullptr) *kernel = choice.index;
    if (reason != nullptr) describe_choice(request, choice, reason, reason_size);
}

}  // namespace flashwright
