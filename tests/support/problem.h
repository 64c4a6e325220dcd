// One forward call in the words of the tests: its shape, options, layouts and the tensors it points to.
#pragma once

#include "tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flashwright::test {

struct Shape {
    std::int64_t batch = 1, heads = 1, heads_kv = 1, seqlen_q = 1, seqlen_k = 1, head_dim = 1, head_dim_v = 1;
};

// How a bias or a mask covers [batch, heads, seqlen_q]: each axis full or one value for all.
struct Coverage {
    bool batch = true, heads = true, rows = true;
    bool by_stride = false;  // a short axis has stride 0 and the full extent, else extent 1
    int rank = 4;            // lower ranks drop axes that are short
    std::int64_t key_stride = 1;
};

struct Options {
    std::optional<double> softmax_scale;
    bool causal = false;
    flashwright_align align = FLASHWRIGHT_ALIGN_DEFAULT;
    std::optional<std::int64_t> diagonal;
    std::int64_t window_left = -1, window_right = -1;
    double softcap = 0;
    std::vector<double> key_fractions;  // of seqlen_k, one a batch entry, repeated; empty: no key lengths
    std::optional<Coverage> bias, mask;
    bool bias_masks = false;  // some entries are -inf
    bool alibi = false;
};

// Causal from the bottom right, with key lengths.
Options busy_options();

// How the axes of a [batch, heads, seqlen, head_dim] tensor lie in memory.
enum class Form {
    contiguous,
    sequence_major,  // [batch, seqlen, heads, head_dim]
    transposed,      // head_dim before seqlen
    channel_gap,     // head_dim stride 2
    row_gap,         // seqlen stride head_dim + 5
    reversed,        // negative seqlen stride
    shared,          // one matrix for every batch entry and head (inputs only)
    odd_ones         // contiguous; axes of extent 1 get stride 0 or 12345
};

const char *name_of(Form form);
std::vector<std::int64_t> strides_of(Form form, const std::vector<std::int64_t> &shape);

struct Layout {
    Form q = Form::contiguous, k = Form::contiguous, v = Form::contiguous, out = Form::contiguous;
    Place place = Place::margins;
    std::int64_t vector_stride = 1;  // of softmax_lse, key_lengths and alibi_slopes
};

struct Problem {
    Problem(flashwright_dtype dtype, const Shape &shape, const Options &options = {}, const Layout &layout = {});

    flashwright_dtype dtype;  // f16: softmax_lse and alibi_slopes are f32
    Shape shape;
    Options options;
    Layout layout;
    Tensor q, k, v, out, lse;
    Tensor key_lengths, bias, mask, alibi_slopes;

    flashwright_forward_args args() const;  // points into this
    void poison_outputs();
    std::string output_bytes() const { return out.bytes() + lse.bytes(); }
    bool outputs_untouched() const { return out.untouched() && lse.untouched(); }
    std::string describe() const;

 private:
    // The views that args() points to.
    mutable flashwright_tensor key_lengths_view_{}, bias_view_{}, mask_view_{}, alibi_view_{};
};

}  // namespace flashwright::test
