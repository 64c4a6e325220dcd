#include "scratch_size.h"

#include <limits>

#include "kernels/dtype_dispatch.h"
#include "tensor_view.h"

namespace flashwright {

std::uint64_t scratch_bytes(const Kernel &kernel, std::int64_t head_dim, std::int64_t head_dim_v, std::int64_t block) {
    // Columns of block_q elements: the transposed queries, the state, scores, what is seen and weights of the longest
    // block, its values, the transposed output. Twice that, for padding and staging.
    const std::int64_t columns =
        head_dim + 16 + head_dim_v + 20 + 3 * (block + kernel.tiles.tile_k) + 2 * (head_dim_v + 16);
    const auto element = static_cast<std::uint64_t>(element_bytes(accumulation_dtype(kernel.dtype)));
    constexpr std::uint64_t kFixed = 0x10000;
    std::uint64_t bytes;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(columns), 2 * element, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(kernel.tiles.block_q), &bytes) ||
        __builtin_add_overflow(bytes, kFixed, &bytes)) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    return bytes;
}

}  // namespace flashwright
