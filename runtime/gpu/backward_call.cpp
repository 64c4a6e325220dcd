#include "backward_call.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "half.h"
#include "runtime/src/backward_block.h"
#include "runtime/src/status.h"
#include "runtime/src/tile_plan.h"

namespace flashwright {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double dot_halves(const HeadMatrix<std::uint16_t> &a, const HeadMatrix<std::uint16_t> &b, std::int64_t row) {
    double sum = 0;
    for (std::int64_t c = 0; c < a.channels; ++c) {
        sum += double{half_value(a.row(row)[c * a.channel_stride])} * half_value(b.row(row)[c * b.channel_stride]);
    }
    return sum;
}

void write_number(double number, flashwright_dtype dtype, char *to) {
    if (dtype == FLASHWRIGHT_F16) {
        const std::uint16_t bits = nearest_half(number);
        std::memcpy(to, &bits, sizeof bits);
    } else {
        const auto value = static_cast<float>(number);
        std::memcpy(to, &value, sizeof value);
    }
}

}  // namespace

flashwright_status GpuBackwardCall::prepare() {
    flashwright_status status = t_.prepare();
    for (DeviceTensor *tensor : {&t_.query_rows, &t_.key_rows, &t_.bias, &t_.mask, &t_.slope, &t_.diagonal_key,
                                 &t_.bias_offset, &t_.mask_offset}) {
        if (!failed(status) && tensor->host() == nullptr) status = tensor->allocate();
    }
    for (int n = 0; n < t_.pass_count; ++n) {
        if (!failed(status)) status = t_.passes[n].result.allocate();
    }
    if (failed(status)) return status;
    pack_elements(p_, p_.q, t_.query_rows);
    pack_elements(p_, problem_.dout, t_.query_rows, false, kernel_.head_dim);
    pack_elements(p_, p_.k, t_.key_rows, true);
    pack_elements(p_, p_.v, t_.key_rows, true, kernel_.head_dim);
    pack_pairs(p_, t_.bias, t_.mask);
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        for (std::int64_t h = 0; h < p_.heads; ++h) describe_rows(b, h);
        for (std::int64_t h = 0; h < p_.heads_kv; ++h) describe_keys(b, h);
    }
    t_.merge();
    return status;
}

int GpuBackwardCall::fetch() {
    for (int n = 0; n < t_.pass_count; ++n) {
        if (const int result = t_.passes[n].result.fetch(); result != 0) return result;
    }
    return 0;
}

void GpuBackwardCall::deliver() const {
    for (int n = 0; n < t_.pass_count; ++n) {
        const GpuBackwardKernel::Pass &pass = *t_.passes[n].pass;
        const DeviceTensor &result = t_.passes[n].result;
        if (pass.dbias) {
            deliver_bias_gradient(result);
            continue;
        }
        if (!pass.owns_keys) deliver_gradient(result, 0, problem_.dq, t_.rows(), false);
        if (pass.dk) deliver_gradient(result, 0, problem_.dk, t_.keys(), true);
        if (pass.dv) deliver_gradient(result, pass.dk ? 1 : 0, problem_.dv, t_.keys(), true);
    }
}

GpuBackwardCall::Range GpuBackwardCall::keys_of(const KeyRange &range, std::int64_t i) {
    return {std::max<std::int64_t>(i + range.lo_offset, 0), std::min(i + range.hi_offset, range.key_count - 1)};
}

GpuBackwardCall::Range GpuBackwardCall::rows_of(const KeyRange &range, std::int64_t j) const {
    return {std::max<std::int64_t>(j - range.hi_offset, 0), std::min(j - range.lo_offset, p_.seqlen_q - 1)};
}

float *GpuBackwardCall::columns_of(const DeviceTensor &tensor, std::int64_t row) const {
    return reinterpret_cast<float *>(tensor.data<char>() + (row + 1) * tensor.stride(1) * p_.q.element_size) - kColumns;
}

float GpuBackwardCall::delta(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const StridedTensor &out = p_.out, &dout = problem_.dout;
    return static_cast<float>(
        p_.dtype == FLASHWRIGHT_F16
            ? dot_halves(HeadMatrix<std::uint16_t>(dout, b, h), HeadMatrix<std::uint16_t>(out, b, h), i)
            : dot_row(HeadMatrix<float>(dout, b, h), HeadMatrix<float>(out, b, h), i));
}

// Key ranges are cut to offsets that fit 32 bits.
void GpuBackwardCall::set_unmasked(const Range &unmasked, float *columns) {
    const std::int32_t bounds[] = {static_cast<std::int32_t>(unmasked.first), static_cast<std::int32_t>(unmasked.last)};
    std::memcpy(columns + kFirst, bounds, sizeof bounds);
}

void GpuBackwardCall::describe_keys(std::int64_t b, std::int64_t h) {
    const KeyRange range = key_range(p_, b);
    for (std::int64_t j = 0; j < t_.keys(); ++j) {
        set_unmasked(j < range.key_count ? rows_of(range, j) : kNone,
                     columns_of(t_.key_rows, (b * p_.heads_kv + h) * t_.keys() + j));
    }
}

void GpuBackwardCall::describe_rows(std::int64_t b, std::int64_t h) {
    const KeyRange range = key_range(p_, b);
    const std::int64_t first_key = (b * p_.heads_kv + h / t_.group()) * t_.keys();
    const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const auto offset = [&](const DeviceTensor &pairs, std::int64_t i) {
        return narrow(b * pairs.stride(3) + h * pairs.stride(2) + i * pairs.stride(1) - first_key);
    };
    for (std::int64_t i = 0; i < t_.rows(); ++i) {
        const std::int64_t row = (b * p_.heads + h) * t_.rows() + i;
        const bool exists = i < p_.seqlen_q;
        const float lse = exists ? element<float>(p_.lse, b, h, i, 0) : -kInfinity;
        const bool nothing = lse == -kInfinity;
        float *columns = columns_of(t_.query_rows, row);
        set_unmasked(exists ? keys_of(range, i) : kNone, columns);
        columns[kLse] = nothing ? -lse : lse;
        columns[kDelta] = nothing ? 0.0F : delta(b, h, i);
        t_.slope.data<float>()[row] = p_.alibi_slopes().given ? element<float>(p_.alibi_slopes(), 0, h, 0, 0) : 0.0F;
        t_.diagonal_key.data<std::int32_t>()[row] = narrow(first_key + i + cut_offset(p_.diagonal_of(b)));
        t_.bias_offset.data<std::int32_t>()[row] = offset(t_.bias, exists ? i : 0);
        t_.mask_offset.data<std::int32_t>()[row] = offset(t_.mask, exists ? i : 0);
    }
}

// Sums over the axes that the bias broadcasts, batch entries outermost.
void GpuBackwardCall::deliver_bias_gradient(const DeviceTensor &scores) const {
    constexpr std::int64_t kAtOnce = 64;
    struct Span {
        std::int64_t begin, end;
    };
    const StridedTensor &to = problem_.dbias;
    const auto summed = [&](Axis axis, std::int64_t index, std::int64_t count) {
        return to.shape[axis] == 1 ? Span{0, count} : Span{index, index + 1};
    };
    for (std::int64_t n = 0; n < to.shape[kBatch] * to.shape[kHead] * to.shape[kRow]; ++n) {
        const std::int64_t row = n % to.shape[kRow], head = n / to.shape[kRow] % to.shape[kHead],
                           batch = n / to.shape[kRow] / to.shape[kHead];
        const Span batches = summed(kBatch, batch, p_.batch), heads = summed(kHead, head, p_.heads),
                   rows = summed(kRow, row, p_.seqlen_q);
        char *out = to.at(batch, head, row);
        for (std::int64_t first = 0; first < p_.seqlen_k; first += kAtOnce) {
            const std::int64_t count = std::min(kAtOnce, p_.seqlen_k - first);
            double sums[kAtOnce] = {};
            for (std::int64_t b = batches.begin; b < batches.end; ++b) {
                for (std::int64_t h = heads.begin; h < heads.end; ++h) {
                    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                        const float *from =
                            scores.data<float>() + ((b * p_.heads + h) * t_.rows() + i) * t_.keys() + first;
                        for (std::int64_t j = 0; j < count; ++j) sums[j] += double{from[j]};
                    }
                }
            }
            for (std::int64_t j = 0; j < count; ++j) {
                write_number(sums[j], p_.dtype, out + (first + j) * to.strides[kChannel] * to.element_size);
            }
        }
    }
}

// The result has `padded_rows` rows for each head, one head after the other. Keys past an entry's length have a
// gradient of 0.
void GpuBackwardCall::deliver_gradient(const DeviceTensor &result, std::int64_t gradient, const StridedTensor &to,
                                       std::int64_t padded_rows, bool of_keys) const {
    with_element_type(p_.dtype, [&](auto element) {
        using Element = decltype(element);
        const auto *first = result.data<Element>() + gradient * result.stride(1);
        set_rows<Element>(to, [&](std::int64_t b, std::int64_t h, std::int64_t i) -> const Element * {
            if (of_keys && i >= p_.key_count(b)) return nullptr;
            return first + ((b * to.shape[kHead] + h) * padded_rows + i) * result.stride(2);
        });
    });
}

}  // namespace flashwright
