#include "problem.h"

#include "kernels/dtype_dispatch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright::test {

Options busy_options() {
    Options o;
    o.causal = true, o.align = FLASHWRIGHT_ALIGN_BOTTOM_RIGHT;
    o.key_fractions = {0.8, 1};
    return o;
}

const char *name_of(Form form) {
    switch (form) {
        case Form::contiguous:
            return "contiguous";
        case Form::sequence_major:
            return "sequence_major";
        case Form::transposed:
            return "transposed";
        case Form::channel_gap:
            return "channel_gap";
        case Form::row_gap:
            return "row_gap";
        case Form::reversed:
            return "reversed";
        case Form::shared:
            return "shared";
        case Form::odd_ones:
            return "odd_ones";
    }
    return "?";
}

std::vector<std::int64_t> strides_of(Form form, const std::vector<std::int64_t> &shape) {
    const std::int64_t heads = shape[1], rows = shape[2], channels = shape[3];
    switch (form) {
        case Form::contiguous:
            return contiguous_strides(shape);
        case Form::sequence_major:
            return {rows * heads * channels, channels, heads * channels, 1};
        case Form::transposed:
            return {heads * rows * channels, rows * channels, 1, rows};
        case Form::channel_gap:
            return {heads * rows * channels * 2, rows * channels * 2, channels * 2, 2};
        case Form::row_gap:
            return {heads * rows * (channels + 5), rows * (channels + 5), channels + 5, 1};
        case Form::reversed:
            return {heads * rows * channels, rows * channels, -channels, 1};
        case Form::shared:
            return {0, 0, channels, 1};
        case Form::odd_ones:
            break;
    }
    std::vector<std::int64_t> strides = contiguous_strides(shape);
    for (std::size_t axis = 0; axis < 4; axis++) {
        if (shape[axis] == 1) strides[axis] = axis % 2 ? 12345 : 0;
    }
    return strides;
}

namespace {

Tensor rows_tensor(flashwright_dtype dtype, std::vector<std::int64_t> shape, Form form, Place place) {
    std::vector<std::int64_t> strides = strides_of(form, shape);
    return Tensor(dtype, std::move(shape), std::move(strides), place);
}

Tensor covering_tensor(flashwright_dtype dtype, const Shape &shape, const Coverage &coverage, Place place) {
    std::vector<std::int64_t> extents = {coverage.batch ? shape.batch : 1, coverage.heads ? shape.heads : 1,
                                         coverage.rows ? shape.seqlen_q : 1, shape.seqlen_k};
    std::vector<std::int64_t> strides = contiguous_strides(extents);
    if (coverage.by_stride) {
        const bool full[] = {coverage.batch, coverage.heads, coverage.rows};
        const std::int64_t all[] = {shape.batch, shape.heads, shape.seqlen_q};
        for (std::size_t axis = 0; axis < 3; axis++) {
            extents[axis] = all[axis];
            if (!full[axis]) strides[axis] = 0;
        }
    }
    for (std::int64_t &stride : strides) stride *= coverage.key_stride;
    extents.erase(extents.begin(), extents.end() - coverage.rank);
    strides.erase(strides.begin(), strides.end() - coverage.rank);
    return Tensor(dtype, extents, strides, place);
}

// One value a row, or a head, or a batch entry; strides as contiguous, times `stride`.
Tensor vector_tensor(flashwright_dtype dtype, const std::vector<std::int64_t> &shape, const Layout &layout) {
    std::vector<std::int64_t> strides = contiguous_strides(shape);
    for (std::int64_t &stride : strides) stride *= layout.vector_stride;
    return Tensor(dtype, shape, strides, layout.place);
}

std::string coverage_text(const Coverage &c) {
    return fmt::format("{}{}{}{}r{}k{}", c.batch ? "B" : "1", c.heads ? "H" : "1", c.rows ? "Q" : "1",
                       c.by_stride ? "s" : "e", c.rank, c.key_stride);
}

}  // namespace

Problem::Problem(flashwright_dtype dtype_, const Shape &shape_, const Options &options_, const Layout &layout_)
    : dtype(dtype_), shape(shape_), options(options_), layout(layout_) {
    const auto &s = shape;
    q = rows_tensor(dtype, {s.batch, s.heads, s.seqlen_q, s.head_dim}, layout.q, layout.place);
    k = rows_tensor(dtype, {s.batch, s.heads_kv, s.seqlen_k, s.head_dim}, layout.k, layout.place);
    v = rows_tensor(dtype, {s.batch, s.heads_kv, s.seqlen_k, s.head_dim_v}, layout.v, layout.place);
    out = rows_tensor(dtype, {s.batch, s.heads, s.seqlen_q, s.head_dim_v}, layout.out, layout.place);
    const flashwright_dtype computed = accumulation_dtype(dtype);
    lse = vector_tensor(computed, {s.batch, s.heads, s.seqlen_q}, layout);
    fill_g(q, 1);
    fill_g(k, 2);
    fill_g(v, 3);
    if (!options.key_fractions.empty()) {
        key_lengths = vector_tensor(FLASHWRIGHT_I32, {s.batch}, layout);
        key_lengths.assign([&](std::int64_t b) {
            const auto &fractions = options.key_fractions;
            return std::floor(fractions[static_cast<std::size_t>(b) % fractions.size()] *
                              static_cast<double>(s.seqlen_k));
        });
    }
    if (options.bias) {
        bias = covering_tensor(dtype, s, *options.bias, layout.place);
        bias.assign([&](std::int64_t n) {
            return options.bias_masks && (n * 7 + n / 11) % 5 == 0 ? -std::numeric_limits<double>::infinity() : g(n, 5);
        });
    }
    if (options.mask) {
        mask = covering_tensor(FLASHWRIGHT_BOOL, s, *options.mask, layout.place);
        mask.assign([](std::int64_t n) { return (n * 5 + n / 13) % 3 == 0 ? 0 : n % 255 + 1; });  // any but 0 is true
    }
    if (options.alibi) {
        alibi_slopes = vector_tensor(computed, {s.heads}, layout);
        alibi_slopes.assign([](std::int64_t h) { return std::exp2(-static_cast<double>(h % 8) - 2); });
    }
}

flashwright_forward_args Problem::args() const {
    flashwright_forward_args args;
    flashwright_forward_args_init(&args);
    args.q = q.view(), args.k = k.view(), args.v = v.view();
    args.out = out.view(), args.softmax_lse = lse.view();
    args.score.softmax_scale = options.softmax_scale ? &*options.softmax_scale : nullptr;
    args.score.causal = options.causal;
    args.score.align = options.align;
    args.score.diagonal = options.diagonal ? &*options.diagonal : nullptr;
    args.score.window_left = options.window_left;
    args.score.window_right = options.window_right;
    args.score.softcap = options.softcap;
    auto point = [](const Tensor &tensor, flashwright_tensor &view) {
        view = tensor.view();
        return tensor.given() ? &view : nullptr;
    };
    args.score.key_lengths = point(key_lengths, key_lengths_view_);
    args.score.bias = point(bias, bias_view_);
    args.score.mask = point(mask, mask_view_);
    args.score.alibi_slopes = point(alibi_slopes, alibi_view_);
    return args;
}

void Problem::poison_outputs() {
    out.poison();
    lse.poison();
}

std::string Problem::describe() const {
    const auto &s = shape;
    std::string text = fmt::format("{} {},{},{},{},{},{},{}", name_of(dtype), s.batch, s.heads, s.heads_kv, s.seqlen_q,
                                   s.seqlen_k, s.head_dim, s.head_dim_v);
    if (options.softmax_scale) text += fmt::format(" scale={}", *options.softmax_scale);
    if (options.causal) text += " causal";
    if (options.align == FLASHWRIGHT_ALIGN_TOP_LEFT) text += " top-left";
    if (options.align == FLASHWRIGHT_ALIGN_BOTTOM_RIGHT) text += " bottom-right";
    if (options.diagonal) text += fmt::format(" diagonal={}", *options.diagonal);
    if (options.window_left != -1 || options.window_right != -1)
        text += fmt::format(" window={},{}", options.window_left, options.window_right);
    if (options.softcap != 0) text += fmt::format(" softcap={}", options.softcap);
    if (key_lengths.given()) text += fmt::format(" key_lengths={}", fmt::join(key_lengths.values(), ","));
    if (options.bias) text += " bias=" + coverage_text(*options.bias) + (options.bias_masks ? " with -inf" : "");
    if (options.mask) text += " mask=" + coverage_text(*options.mask);
    if (options.alibi) text += " alibi";
    if (layout.vector_stride != 1) text += fmt::format(" vector_stride={}", layout.vector_stride);
    text += fmt::format(" q,k,v,out={},{},{},{}", name_of(layout.q), name_of(layout.k), name_of(layout.v),
                        name_of(layout.out));
    return text;
}

}  // namespace flashwright::test
