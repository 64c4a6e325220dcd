// Contiguous tensors, and memory for them.
#pragma once

#include "flashwright/flashwright.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace flashwright {

// Its data is null.
flashwright_tensor contiguous_tensor(flashwright_dtype dtype, std::initializer_list<std::int64_t> shape);

std::size_t element_count(const flashwright_tensor &tensor);

// Allocates one block for all tensors and sets their data. With placement 0 each starts at a cache line. Otherwise each
// starts at a multiple of 16 bytes, as from malloc, in a place of a page that is drawn with `placement` as the seed.
std::unique_ptr<std::byte[]> allocate_tensors(std::initializer_list<flashwright_tensor *> tensors,
                                              std::uint32_t placement = 0);

// Element n becomes g(n, s) = (((37n + 101s + 13) mod 97) - 48) / 32, which is exact in every dtype.
void fill_with_g(const flashwright_tensor &tensor, std::int64_t s);

}  // namespace flashwright
