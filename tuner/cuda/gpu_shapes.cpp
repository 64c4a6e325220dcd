#include "gpu_shapes.h"

#include <algorithm>
#include <iterator>

namespace flashwright {

std::vector<ShapeSpec> shapes_of(const ConfiguredKernel &kernel, const std::vector<ConfiguredKernel> &kernels,
                                 const std::vector<ShapeSpec> &given) {
    const std::int64_t d = kernel.tiles.head_dim;
    if (given.empty())
        return {{4, 16, 16, 1024, 1024, d, d, false},
                {2, 16, 16, 2048, 2048, d, d, true},
                {8, 16, 16, 500, 500, d, d, false}};
    const auto takes = [](const ConfiguredKernel &other, const ShapeSpec &shape) {
        return other.tiles.head_dim >= std::max(shape.head_dim, shape.head_dim_v);
    };
    std::vector<ShapeSpec> taken;
    std::copy_if(given.begin(), given.end(), std::back_inserter(taken), [&](const ShapeSpec &shape) {
        return takes(kernel, shape) && std::none_of(kernels.begin(), kernels.end(), [&](const ConfiguredKernel &other) {
                   return other.terms == kernel.terms && other.assume_finite == kernel.assume_finite &&
                          other.tiles.head_dim < kernel.tiles.head_dim && takes(other, shape);
               });
    });
    return taken;
}

}  // namespace flashwright
