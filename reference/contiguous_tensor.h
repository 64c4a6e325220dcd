// Contiguous tensors in memory of one's own.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace flashwright {

// Without data.
flashwright_tensor contiguous_tensor(flashwright_dtype dtype, std::initializer_list<std::int64_t> shape);

std::size_t element_count(const flashwright_tensor &tensor);

// One block for all of them, each at a cache line's start; or, with a `placement` other than 0, each at a multiple of
// 16 bytes as malloc gives, anywhere in a page, drawn by that seed.
std::unique_ptr<std::byte[]> allocate_tensors(std::initializer_list<flashwright_tensor *> tensors,
                                              std::uint32_t placement = 0);

// Element n becomes g(n, s) = (((37n + 101s + 13) mod 97) - 48) / 32, which is exact in every dtype.
void fill_with_g(const flashwright_tensor &tensor, std::int64_t s);

}  // namespace flashwright
