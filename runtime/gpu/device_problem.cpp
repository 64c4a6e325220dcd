#include "device_problem.h"

#include <cinttypes>
#include <utility>

#include "runtime/src/head_matrix.h"
#include "runtime/src/status.h"
#include "runtime/src/tile_plan.h"

namespace flashwright {
namespace {

// Infinity and NaN have an exponent of all ones.
bool all_finite_halves(const HeadMatrix<std::uint16_t> &from, std::int64_t rows) {
    constexpr unsigned kExponent = 0x7c00;
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < from.channels; ++c) {
            if ((from.row(r)[c * from.channel_stride] & kExponent) == kExponent) return false;
        }
    }
    return true;
}

}  // namespace

void name_dtype(flashwright_dtype dtype, KernelReach *reach) {
    const char *name = dtype_name(dtype);
    if (std::strstr(reach->dtypes, name) != nullptr) return;
    append(reach->dtypes, sizeof reach->dtypes, "%s%s", reach->dtypes[0] == '\0' ? "" : " or ", name);
}

flashwright_status check_supported(const ForwardProblem &p, const char *backend, const KernelReach &reach) {
    if (reach.channels == 0) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "q: expected dtype %s, all that backend %s has, got %s",
                           reach.dtypes, backend, dtype_name(p.dtype));
    }
    for (const StridedTensor *view : {&p.q, &p.v}) {
        if (view->shape[kChannel] > reach.channels) {
            return make_status(FLASHWRIGHT_UNSUPPORTED,
                               "%s: expected a head dimension of at most %" PRId64 " on backend %s, got %" PRId64,
                               view->name, reach.channels, backend, view->shape[kChannel]);
        }
    }
    if (p.batch > kMaxGrid || p.heads > kMaxGrid) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "q: expected at most %" PRId64 " batch entries and heads on backend %s, got %" PRId64
                           " and %" PRId64,
                           kMaxGrid, backend, p.batch, p.heads);
    }
    return ok_status();
}

bool all_finite(const ForwardProblem &p, const StridedTensor &view, bool keys_only) {
    for (std::int64_t b = 0; b < view.shape[kBatch]; ++b) {
        for (std::int64_t h = 0; h < view.shape[kHead]; ++h) {
            const std::int64_t rows = keys_only ? p.key_count(b) : view.shape[kRow];
            const bool finite = p.dtype == FLASHWRIGHT_F16
                                    ? all_finite_halves(HeadMatrix<std::uint16_t>(view, b, h), rows)
                                    : all_finite(HeadMatrix<float>(view, b, h), 0, rows);
            if (!finite) return false;
        }
    }
    return true;
}

KeyRange key_range(const ForwardProblem &p, std::int64_t batch) {
    const std::int64_t diagonal = p.diagonal_of(batch);
    KeyRange range{-kFarOffset, kFarOffset, p.key_count(batch)};
    if (p.window_left >= 0) range.lo_offset = cut_offset(saturating_subtract(diagonal, p.window_left));
    if (p.window_right >= 0) range.hi_offset = cut_offset(saturating_add(diagonal, p.window_right));
    return range;
}

namespace {

flashwright_status describe_repeated(const ForwardProblem &p, const StridedTensor &view, halide_type_t type,
                                     std::int64_t keys, std::int64_t rows, DeviceTensor *tensor) {
    unsigned repeated = 0;
    for (const auto &[axis, bit] : {std::pair{kRow, 1U}, {kHead, 2U}, {kBatch, 3U}}) {
        if (!view.given || view.shape[axis] == 1) repeated |= 1U << bit;
    }
    return tensor->describe(view.given ? view.name : "bias", type, {keys, rows, p.heads, p.batch}, repeated);
}

}  // namespace

flashwright_status check_pairs(const ForwardProblem &p, std::int64_t keys, std::int64_t rows) {
    const double pairs = static_cast<double>(p.batch) * static_cast<double>(p.heads) * static_cast<double>(rows) *
                         static_cast<double>(keys);
    if (pairs < 2147483648.0) return ok_status();
    return make_status(
        FLASHWRIGHT_UNSUPPORTED,
        "k: expected less than 2^31 pairs of queries and keys, padded to whole tiles, in all heads of all "
        "batch entries, with score terms or values that may not be finite, got %.0f",
        pairs);
}

flashwright_status describe_pairs(const ForwardProblem &p, std::int64_t keys, std::int64_t rows, DeviceTensor *bias,
                                  DeviceTensor *mask) {
    const flashwright_status status = describe_repeated(p, p.bias(), storage_type(p.dtype), keys, rows, bias);
    return failed(status) ? status : describe_repeated(p, p.mask(), halide_type_of<std::uint8_t>(), keys, rows, mask);
}

flashwright_status allocate_absent(const ForwardProblem &p, std::int64_t keys, DeviceTensor *bias, DeviceTensor *mask) {
    flashwright_status status = ok_status();
    if (!p.bias().given) status = bias->allocate();
    if (!failed(status) && !p.mask().given) {
        status = mask->allocate();
        if (!failed(status)) std::fill_n(mask->data<std::uint8_t>(), keys, std::uint8_t{1});
    }
    return status;
}

void pack_pairs(const ForwardProblem &p, const DeviceTensor &bias, const DeviceTensor &mask) {
    if (p.bias().given) pack_elements(p, p.bias(), bias);
    if (p.mask().given) pack<std::uint8_t>(p, p.mask(), mask);
}

void pack_slopes(const ForwardProblem &p, const DeviceTensor &slopes) {
    for (std::int64_t h = 0; p.alibi_slopes().given && h < p.heads; ++h) {
        slopes.data<float>()[h] = element<float>(p.alibi_slopes(), 0, h, 0, 0);
    }
}

}  // namespace flashwright
