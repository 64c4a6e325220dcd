// How much working memory a kernel may ask for.
#pragma once

#include <cstdint>

#include "kernel_abi.h"

namespace flashwright {

// Bytes for one task of a kernel whose longest block has `block` keys; the largest value if that overflows.
std::uint64_t scratch_bytes(const Kernel &kernel, std::int64_t head_dim, std::int64_t head_dim_v, std::int64_t block);

}  // namespace flashwright
