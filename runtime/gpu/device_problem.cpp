#include "device_problem.h"

#include <cinttypes>
#include <utility>

#include "head_matrix.h"
#include "status.h"
#include "tile_plan.h"

namespace flashwright {
flashwright_status check_supported(const ForwardProblem &p, const char *backend, std::int64_t widest) {
    if (p.dtype != FLASHWRIGHT_F32) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "q: expected dtype f32, all that backend %s has, got %s", backend,
                           dtype_name(p.dtype));
    }
    for (const StridedTensor *view : {&p.q, &p.v}) {
        if (view->shape[kChannel] > widest) {
            return make_status(FLASHWRIGHT_UNSUPPORTED,
                               "%s: expected head dimensions of at most %" PRId64 " on backend %s, got %" PRId64,
                               view->name, widest, backend, view->shape[kChannel]);
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
            if (!all_finite(HeadMatrix<float>(view, b, h), 0, rows)) return false;
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

flashwright_status describe_pairs(const ForwardProblem &p, std::int64_t keys, std::int64_t rows, DeviceTensor *bias,
                                  DeviceTensor *mask) {
    const flashwright_status status = describe_repeated(p, p.bias, halide_type_of<float>(), keys, rows, bias);
    return failed(status) ? status : describe_repeated(p, p.mask, halide_type_of<std::uint8_t>(), keys, rows, mask);
}

flashwright_status allocate_absent(const ForwardProblem &p, std::int64_t keys, DeviceTensor *bias, DeviceTensor *mask) {
    flashwright_status status = ok_status();
    if (!p.bias.given) status = bias->allocate();
    if (!failed(status) && !p.mask.given) {
        status = mask->allocate();
        if (!failed(status)) std::fill_n(mask->data<std::uint8_t>(), keys, std::uint8_t{1});
    }
    return status;
}

void pack_pairs(const ForwardProblem &p, const DeviceTensor &bias, const DeviceTensor &mask) {
    if (p.bias.given) pack<float>(p, p.bias, bias);
    if (p.mask.given) pack<std::uint8_t>(p, p.mask, mask);
}

}  // namespace flashwright
