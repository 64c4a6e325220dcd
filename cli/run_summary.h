// What `flashwright run` says about a call, on stderr.
#pragma once

#include "flashwright/flashwright.h"

#include <string>
#include <string_view>
#include <vector>

namespace flashwright {

// An input of a call and the names of its axes. A tensor of lower rank lacks the first axes.
struct NamedTensor {
    std::string_view name;
    const flashwright_tensor &tensor;
    std::vector<std::string_view> axes;
};

// As "q [batch 1, heads 12, seqlen_q 128, head_dim 32]".
std::string axes_text(const NamedTensor &tensor);

// Prints the kernel that ran, the time of the call and the shapes.
void print_run(const std::string &kernel, double seconds, const std::vector<NamedTensor> &tensors);

// Of forward and backward.
std::vector<NamedTensor> attention_inputs(const flashwright_tensor &q, const flashwright_tensor &k,
                                          const flashwright_tensor &v);

}  // namespace flashwright
