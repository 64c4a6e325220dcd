#include "key_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "head_matrix.h"
#include "status.h"
#include "tile_plan.h"

namespace flashwright {
namespace {

constexpr std::int64_t kMostRows = 32;  // with more a head has tiles enough
// A part takes a core tens of microseconds, a thousand times what merging it costs.
constexpr std::int64_t kLeastKeys = 1024, kMostParts = 32;
constexpr std::int64_t kKeyStep = 64;  // parts begin at a multiple, as blocks of whole tiles are the fastest

void skip(StridedTensor *view, Axis axis, std::int64_t begin, std::int64_t length) {
    view->data += begin * view->strides[axis] * view->element_size;
    view->shape[axis] = length;
}

}  // namespace

std::int64_t count_key_parts(const ForwardProblem &problem) {
    if (problem.seqlen_q > kMostRows) return 1;
    return std::clamp<std::int64_t>(problem.seqlen_k / kLeastKeys, 1, kMostParts);
}

PartGrid::PartGrid(const ForwardProblem &problem, std::int64_t tiles, std::int64_t parts)
    : heads_(problem.heads), tiles_(tiles), parts_(parts), count_(problem.batch * problem.heads * parts) {}

PartTask PartGrid::task(std::int64_t index) const {
    const std::int64_t head = index / parts_;
    return {{head / heads_, head % heads_, 0, tiles_}, index % parts_};
}

PartStates::PartStates(const ForwardProblem &problem, std::int64_t parts)
    : problem_(problem), parts_(parts), element_(problem.out.element_size) {}

flashwright_status PartStates::reserve(const flashwright_execution &execution) {
    const std::int64_t heads = problem_.batch * problem_.heads, rows = parts_ * heads * problem_.seqlen_q;
    const std::int64_t counters = heads * static_cast<std::int64_t>(sizeof *done_);
    const std::int64_t bytes = counters + rows * (1 + problem_.head_dim_v) * element_;
    const flashwright_status status = memory_.reserve(execution, 1, static_cast<std::uint64_t>(bytes));
    if (failed(status)) return status;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free, "counters lie in plain memory");
    done_ = reinterpret_cast<std::atomic<std::int64_t> *>(memory_.arena(0));
    for (std::int64_t i = 0; i < heads; ++i) new (done_ + i) std::atomic<std::int64_t>(0);
    lse_ = memory_.arena(0) + counters;
    out_ = lse_ + rows * element_;
    return status;
}

std::int64_t PartStates::first_key(std::int64_t part) const {
    return part == parts_ ? problem_.seqlen_k : part * problem_.seqlen_k / parts_ / kKeyStep * kKeyStep;
}

StridedTensor PartStates::part_of(char *memory, const char *name, std::int64_t part, std::int64_t channels) const {
    StridedTensor state = problem_.out;
    state.name = name;
    state.given = true;
    state.shape[kChannel] = channels;
    state.strides[kChannel] = 1;
    state.strides[kRow] = channels;
    state.strides[kHead] = channels * problem_.seqlen_q;
    state.strides[kBatch] = state.strides[kHead] * problem_.heads;
    state.data = memory + part * problem_.batch * state.strides[kBatch] * element_;
    return state;
}

ForwardProblem PartStates::problem_of(std::int64_t part) const {
    const std::int64_t begin = first_key(part), length = first_key(part + 1) - begin;
    ForwardProblem keys = problem_;
    for (StridedTensor *view : {&keys.k, &keys.v}) skip(view, kRow, begin, length);
    for (StridedTensor *view : {&keys.bias, &keys.mask}) {
        if (view->given) skip(view, kChannel, begin, length);
    }
    keys.first_key += begin;
    keys.seqlen_k = length;
    keys.out = part_of(out_, "out", part, problem_.head_dim_v);
    keys.lse = part_of(lse_, "softmax_lse", part, 1);
    return keys;
}

void PartStates::finish(std::int64_t batch, std::int64_t head) const {
    // Whoever comes last sees what all others wrote.
    if (done_[batch * problem_.heads + head].fetch_add(1, std::memory_order_acq_rel) + 1 < parts_) return;
    if (problem_.dtype == FLASHWRIGHT_F64) {
        merge<double>(batch, head);
    } else {
        merge<float>(batch, head);
    }
}

// lse = log(sum of e^lse_p), out = sum of e^(lse_p - lse) out_p.
template <typename T>
void PartStates::merge(std::int64_t batch, std::int64_t head) const {
    const HeadMatrix<T> out(problem_.out, batch, head);
    for (std::int64_t row = 0; row < problem_.seqlen_q; ++row) {
        double lse[kMostParts], greatest = -std::numeric_limits<double>::infinity(), sum = 0.0;
        for (std::int64_t p = 0; p < parts_; ++p) {
            lse[p] = *HeadMatrix<T>(part_of(lse_, "", p, 1), batch, head).row(row);
            greatest = std::max(greatest, lse[p]);
        }
        const bool nothing_seen = std::isinf(greatest) && greatest < 0;
        for (std::int64_t p = 0; p < parts_; ++p) sum += std::exp(lse[p] - (nothing_seen ? 0.0 : greatest));
        const double row_lse = nothing_seen ? greatest : greatest + std::log(sum);

        T *to = out.row(row);
        with_stride(out.channel_stride, [&](auto stride) {
            for (std::int64_t c = 0; c < out.channels; ++c) to[c * stride] = 0;
            for (std::int64_t p = 0; p < parts_; ++p) {
                if (lse[p] == -std::numeric_limits<double>::infinity()) continue;
                const T weight = static_cast<T>(std::exp(lse[p] - row_lse));
                const T *from = HeadMatrix<T>(part_of(out_, "", p, out.channels), batch, head).row(row);
                for (std::int64_t c = 0; c < out.channels; ++c) to[c * stride] += weight * from[c];
            }
        });
        if (problem_.lse.given) *HeadMatrix<T>(problem_.lse, batch, head).row(row) = static_cast<T>(row_lse);
    }
}

}  // namespace flashwright
