#include "backward_call.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "gradient_block.h"
#include "status.h"
#include "tile_plan.h"

namespace flashwright {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// After Q and dO of a row, and K and V of a key; see generators/gpu/backward_gpu_generator.cpp.
enum Column : std::uint8_t { kFirst, kLast, kLse, kDelta, kColumns };

}  // namespace

GpuBackwardCall::GpuBackwardCall(const BackwardProblem &problem, const GpuGradientKernel &kernel, void *context)
    : problem_(problem), p_(problem.forward), kernel_(kernel), context_(context) {
    take_passes();
    // Each side holds the blocks of the passes that own the other, and is a multiple of the tiles of those that own it.
    std::int64_t row_tile = 1, key_tile = 1;
    for (int n = 0; n < pass_count_; ++n) {
        const GpuGradientKernel::Pass &pass = *passes_[n].pass;
        std::int64_t &streamed = pass.owns_keys ? rows_ : keys_, &own_tile = pass.owns_keys ? key_tile : row_tile;
        streamed = std::max(streamed, padded(pass.owns_keys ? p_.seqlen_q : p_.seqlen_k, pass.tiles.block_k));
        own_tile = std::lcm(own_tile, pass.tiles.block_q());
        if (pass.dbias) key_tile = std::lcm(key_tile, pass.tiles.block_k);  // it writes all keys
    }
    rows_ = padded(rows_, row_tile);
    keys_ = padded(keys_, key_tile);
}

void GpuBackwardCall::take_passes() {
    for (int n = 0; n < kernel_.pass_count; ++n) {
        if (kernel_.passes[n].dbias && !problem_.dbias.given) continue;
        passes_[pass_count_++].pass = &kernel_.passes[n];
    }
}

flashwright_status GpuBackwardCall::prepare() {
    flashwright_status status = allocate();
    if (failed(status)) return status;
    pack<float>(p_, p_.q, query_rows_);
    pack<float>(p_, problem_.dout, query_rows_, false, kernel_.head_dim);
    pack<float>(p_, p_.k, key_rows_, true);
    pack<float>(p_, p_.v, key_rows_, true, kernel_.head_dim);
    pack_pairs(p_, bias_, mask_, keys_);
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        for (std::int64_t h = 0; h < p_.heads; ++h) describe_rows(b, h);
        for (std::int64_t h = 0; h < p_.heads_kv; ++h) describe_keys(b, h);
    }
    for (int n = 0; n < pass_count_; ++n) plan_blocks(*passes_[n].pass, passes_[n].plan);
    for (DeviceTensor *tensor : {&query_rows_, &key_rows_}) tensor->merge_axes(1);
    for (DeviceTensor *tensor : {&bias_, &mask_}) tensor->merge_axes(0);
    return status;
}

int GpuBackwardCall::launch() {
    for (int n = 0; n < pass_count_; ++n) {
        const GpuGradientKernel::Pass &pass = *passes_[n].pass;
        const std::int64_t heads = pass.owns_keys ? group() : 1, head_rows = pass.owns_keys ? rows_ : keys_;
        const int result =
            pass.run(context_, query_rows_.input(), key_rows_.input(), slope_.input(), diagonal_key_.input(),
                     bias_.input(), mask_.input(), bias_offset_.input(), mask_offset_.input(), passes_[n].plan.input(),
                     static_cast<std::int32_t>(heads), static_cast<std::int32_t>(head_rows),
                     static_cast<float>(p_.softmax_scale), static_cast<float>(p_.softcap), passes_[n].result.output());
        if (result != 0) return result;
    }
    return 0;
}

int GpuBackwardCall::fetch() {
    for (int n = 0; n < pass_count_; ++n) {
        if (const int result = passes_[n].result.fetch(); result != 0) return result;
    }
    return 0;
}

void GpuBackwardCall::deliver() const {
    for (int n = 0; n < pass_count_; ++n) {
        const GpuGradientKernel::Pass &pass = *passes_[n].pass;
        const DeviceTensor &result = passes_[n].result;
        if (pass.dbias) {
            deliver_bias_gradient(result);
            continue;
        }
        if (!pass.owns_keys) deliver_gradient(result, 0, problem_.dq, rows_, false);
        if (pass.dk) deliver_gradient(result, 0, problem_.dk, keys_, true);
        if (pass.dv) deliver_gradient(result, pass.dk ? 1 : 0, problem_.dv, keys_, true);
    }
}

flashwright_status GpuBackwardCall::allocate() {
    const halide_type_t f32 = halide_type_of<float>(), i32 = halide_type_of<std::int32_t>();
    const std::int64_t channels = kernel_.head_dim;
    flashwright_status status =
        query_rows_.allocate("q, dout", f32, {2 * channels + kColumns, rows_, p_.heads, p_.batch});
    if (!failed(status)) {
        status = key_rows_.allocate("k, v", f32, {2 * channels + kColumns, keys_, p_.heads_kv, p_.batch});
    }
    if (!failed(status)) status = allocate_repeated(p_, p_.bias, f32, keys_, rows_, &bias_);
    if (!failed(status)) {
        status = allocate_repeated(p_, p_.mask, halide_type_of<std::uint8_t>(), keys_, rows_, &mask_);
    }
    const std::int64_t all_rows = rows_ * p_.heads * p_.batch;
    if (!failed(status)) status = slope_.allocate("alibi_slopes", f32, {all_rows});
    for (DeviceTensor *tensor : {&diagonal_key_, &bias_offset_, &mask_offset_}) {
        if (!failed(status)) status = tensor->allocate("q", i32, {all_rows});
    }
    for (int n = 0; n < pass_count_; ++n) {
        if (!failed(status)) status = allocate_pass(&passes_[n]);
    }
    return status;
}

flashwright_status GpuBackwardCall::allocate_pass(PassCall *call) const {
    const GpuGradientKernel::Pass &pass = *call->pass;
    const std::int64_t own = pass.owns_keys ? keys_ : rows_ * group(), groups = p_.heads_kv * p_.batch;
    const std::int64_t channels = pass.dbias ? keys_ : kernel_.head_dim, gradients = pass.dk && pass.dv ? 2 : 1;
    const flashwright_status status =
        call->plan.allocate("q", halide_type_of<std::int32_t>(), {2, own / pass.tiles.block_q(), groups});
    if (failed(status)) return status;
    return call->result.allocate(pass.owns_keys ? "dk"
                                 : pass.dbias   ? "dbias"
                                                : "dq",
                                 halide_type_of<float>(), {channels, gradients, own, groups});
}

GpuBackwardCall::Seen GpuBackwardCall::keys_of(const KeyRange &range, std::int64_t i) {
    return {std::max<std::int64_t>(i + range.lo_offset, 0), std::min(i + range.hi_offset, range.key_count - 1)};
}

GpuBackwardCall::Seen GpuBackwardCall::rows_of(const KeyRange &range, std::int64_t j) const {
    return {std::max<std::int64_t>(j - range.hi_offset, 0), std::min(j - range.lo_offset, p_.seqlen_q - 1)};
}

float *GpuBackwardCall::columns_of(const DeviceTensor &tensor, std::int64_t row) {
    return tensor.data<float>() + (row + 1) * tensor.stride(1) - kColumns;
}

// Offsets are far beyond the ends at most, and fit 32 bits.
void GpuBackwardCall::set_seen(const Seen &seen, float *columns) {
    const std::int32_t bounds[] = {static_cast<std::int32_t>(seen.first), static_cast<std::int32_t>(seen.last)};
    std::memcpy(columns + kFirst, bounds, sizeof bounds);
}

void GpuBackwardCall::describe_keys(std::int64_t b, std::int64_t h) {
    const KeyRange range = key_range(p_, b);
    for (std::int64_t j = 0; j < keys_; ++j) {
        set_seen(j < range.key_count ? rows_of(range, j) : kNone,
                 columns_of(key_rows_, (b * p_.heads_kv + h) * keys_ + j));
    }
}

void GpuBackwardCall::describe_rows(std::int64_t b, std::int64_t h) {
    const KeyRange range = key_range(p_, b);
    const std::int64_t first_key = (b * p_.heads_kv + h / group()) * keys_;
    const HeadMatrix<float> out(p_.out, b, h), dout(problem_.dout, b, h);
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto offset = [&](const DeviceTensor &pairs, std::int64_t i) {
        return narrow(b * pairs.stride(3) + h * pairs.stride(2) + i * pairs.stride(1) - first_key);
    };
    for (std::int64_t i = 0; i < rows_; ++i) {
        const std::int64_t row = (b * p_.heads + h) * rows_ + i;
        const bool exists = i < p_.seqlen_q;
        const float lse = exists ? element<float>(p_.lse, b, h, i, 0) : -kInfinity;
        const bool nothing = lse == -kInfinity;
        float *columns = columns_of(query_rows_, row);
        set_seen(exists ? keys_of(range, i) : kNone, columns);
        columns[kLse] = nothing ? kInfinity : lse;
        columns[kDelta] = nothing ? 0.0F : static_cast<float>(dot_row(dout, out, i));
        slope_.data<float>()[row] = p_.alibi_slopes.given ? element<float>(p_.alibi_slopes, 0, h, 0, 0) : 0.0F;
        diagonal_key_.data<std::int32_t>()[row] = narrow(first_key + i + cut_offset(p_.diagonal_of(b)));
        bias_offset_.data<std::int32_t>()[row] = offset(bias_, exists ? i : 0);
        mask_offset_.data<std::int32_t>()[row] = offset(mask_, exists ? i : 0);
    }
}

// Which blocks of the other side each thread block meets: of its keys, or of the rows that see its keys.
void GpuBackwardCall::plan_blocks(const GpuGradientKernel::Pass &pass, const DeviceTensor &plan) const {
    const std::int64_t thread_blocks = (pass.owns_keys ? keys_ : rows_) / pass.tiles.block_q();
    const std::int64_t heads = pass.owns_keys ? 1 : group();
    auto *boundaries = plan.data<std::int32_t>();
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        const KeyRange keys = key_range(p_, b);
        const KeyRange rows{-keys.hi_offset, -keys.lo_offset, p_.seqlen_q};
        for (std::int64_t n = 0; n < p_.heads_kv * heads * thread_blocks; ++n, boundaries += 2) {
            const std::int64_t block = n % thread_blocks;
            const bool past_the_keys = pass.owns_keys && block * pass.tiles.block_q() >= keys.key_count;
            if (past_the_keys) continue;  // zeros: no blocks
            const KeyPlan met = plan_keys(pass.owns_keys ? rows : keys, block, pass.tiles, true);
            boundaries[0] = met.boundaries[0];
            boundaries[1] = met.boundaries[3];
        }
    }
}

// Axes that the bias repeats are summed in their order, batch entries outermost.
void GpuBackwardCall::deliver_bias_gradient(const DeviceTensor &scores) const {
    constexpr std::int64_t kAtOnce = 64;
    struct Span {
        std::int64_t begin, end;
    };
    const StridedTensor &to = problem_.dbias;
    const auto repeats = [&](Axis axis, std::int64_t index, std::int64_t count) {
        return to.shape[axis] == 1 ? Span{0, count} : Span{index, index + 1};
    };
    for (std::int64_t n = 0; n < to.shape[kBatch] * to.shape[kHead] * to.shape[kRow]; ++n) {
        const std::int64_t row = n % to.shape[kRow], head = n / to.shape[kRow] % to.shape[kHead],
                           batch = n / to.shape[kRow] / to.shape[kHead];
        const Span batches = repeats(kBatch, batch, p_.batch), heads = repeats(kHead, head, p_.heads),
                   rows = repeats(kRow, row, p_.seqlen_q);
        char *out = to.at(batch, head, row);
        for (std::int64_t first = 0; first < p_.seqlen_k; first += kAtOnce) {
            const std::int64_t count = std::min(kAtOnce, p_.seqlen_k - first);
            double sums[kAtOnce] = {};
            for (std::int64_t b = batches.begin; b < batches.end; ++b) {
                for (std::int64_t h = heads.begin; h < heads.end; ++h) {
                    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                        const float *from = scores.data<float>() + ((b * p_.heads + h) * rows_ + i) * keys_ + first;
                        for (std::int64_t j = 0; j < count; ++j) sums[j] += double{from[j]};
                    }
                }
            }
            for (std::int64_t j = 0; j < count; ++j) {
                const auto sum = static_cast<float>(sums[j]);
                std::memcpy(out + (first + j) * to.strides[kChannel] * to.element_size, &sum, sizeof sum);
            }
        }
    }
}

// `padded_rows` of each head lie one after the other; keys past an entry's length have a gradient of 0.
void GpuBackwardCall::deliver_gradient(const DeviceTensor &result, std::int64_t gradient, const StridedTensor &to,
                                       std::int64_t padded_rows, bool of_keys) const {
    const float *head = result.data<float>() + gradient * result.stride(1);
    for (std::int64_t b = 0; b < to.shape[kBatch]; ++b) {
        const std::int64_t rows = of_keys ? p_.key_count(b) : to.shape[kRow];
        for (std::int64_t h = 0; h < to.shape[kHead]; ++h, head += padded_rows * result.stride(2)) {
            const HeadMatrix<float> matrix(to, b, h);
            store(head, result.stride(2), 1.0F, rows, matrix, 0);
            fill_zero(matrix, rows, to.shape[kRow] - rows);
        }
    }
}

}  // namespace flashwright
