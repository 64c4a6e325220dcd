#include "gpu_measurement_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>

namespace flashwright {
namespace {

constexpr int kMostAlike = 2;

}  // namespace

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

std::vector<std::size_t> gpu_shortlist(const std::vector<AnalyzedGpuTiles> &tried, std::size_t count) {
    std::vector<std::size_t> ranked;
    for (std::size_t i = 1; i < tried.size(); ++i) {
        if (tried[i].analysis.valid()) ranked.push_back(i);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [&](std::size_t a, std::size_t b) { return tried[a].ratio() < tried[b].ratio(); });
    std::vector<std::size_t> chosen;
    std::map<std::tuple<int, int, int>, int> alike;
    for (const std::size_t i : ranked) {
        const GpuTiles &tiles = tried[i].tiles;
        if (chosen.size() == count) break;
        if (++alike[{tiles.rows, tiles.block_k, tiles.threads_per_row}] <= kMostAlike) chosen.push_back(i);
    }
    return chosen;
}

}  // namespace flashwright
