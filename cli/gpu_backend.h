// Running on a GPU, where the build has backends for one.
#pragma once

#include "attention_options.h"
#include "flashwright/flashwright.h"

#include <string>

namespace flashwright {

// Throws std::runtime_error where the options name what only the CPU has.
void check_gpu_options(const AttentionOptions &options);

// The kernel that ran.
std::string forward_on_gpu(const flashwright_forward_args &args, const std::string &backend);
std::string backward_on_gpu(const flashwright_backward_args &args, const std::string &backend);

}  // namespace flashwright
