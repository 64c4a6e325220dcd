// Runs attention on a GPU, if the build has a backend for it.
#pragma once

#include "attention_options.h"
#include "flashwright/flashwright.h"

#include <string>

namespace flashwright {

// Throws std::runtime_error if an option of the CPU alone is given.
void check_gpu_options(const AttentionOptions &options);

// Return the kernel that ran.
std::string forward_on_gpu(const flashwright_forward_args &args, const std::string &backend);
std::string backward_on_gpu(const flashwright_backward_args &args, const std::string &backend);

}  // namespace flashwright
