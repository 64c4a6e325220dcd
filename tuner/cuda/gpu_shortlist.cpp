#include "gpu_shortlist.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace flashwright {
namespace {

constexpr int kMostAlike = 2;

}  // namespace

std::vector<std::size_t> gpu_shortlist(const std::vector<TriedGpuTiles> &tried, std::size_t count) {
    std::vector<std::size_t> ranked;
    for (std::size_t i = 1; i < tried.size(); ++i) {
        if (tried[i].trial.valid()) ranked.push_back(i);
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
