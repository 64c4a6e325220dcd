// Spaces and strategies, without a machine.
#include "flashwright/flashwright.h"
#include "kernels/cpu_backward_space.h"
#include "kernels/cpu_forward_space.h"
#include "kernels/tile_spaces.h"
#include "tuner/candidates/kernel_family.h"
#include "tuner/search/search_space.h"
#include "tuner/search/strategy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace flashwright::test {
namespace {

CpuSearchContext machine_like_zen5() { return cpu_search_context("avx512", 4, 48 << 10, 1 << 20); }

// f(space, machine) for every op, ISA and element.
template <typename F>
void with_every_space(F f) {
    for (const std::string &op : tunable_ops()) {
        for (const char *isa : {"baseline", "sse41", "avx2", "avx512", "neon"}) {
            for (const int element : {4, 8}) {
                SCOPED_TRACE(op + " " + isa + " " + std::to_string(element));
                f(tile_space_of(op), cpu_search_context(isa, element, 32 << 10, 512 << 10));
            }
        }
    }
}

TEST(TunerSpace, IsNeitherEmptyNorRepeatsItself) {
    with_every_space([](const TileSpace &space, const CpuSearchContext &machine) {
        std::set<std::vector<int>> points;
        for (const CpuTiles &tiles : space.choices(machine)) {
            EXPECT_TRUE(points.insert(space.point_of(tiles)).second);
            EXPECT_EQ(space.point_of(space.tiles_of(space.point_of(tiles))), space.point_of(tiles));
            EXPECT_LE(std::int64_t{2} * tiles.block_q * tiles.block_k * machine.element_size, machine.l2 / 2);
        }
        EXPECT_GT(points.size(), 100U);
        const std::vector<CpuTiles> starts = space.starts(machine);
        EXPECT_FALSE(starts.empty());
        for (const CpuTiles &start : starts) EXPECT_TRUE(space.worth_searching(start, machine));
    });
    EXPECT_THROW(cpu_search_context("mmx", 4, 1, 1), std::invalid_argument);
    EXPECT_THROW(tile_space_of("merge"), std::invalid_argument);
}

TEST(TunerSpace, ForwardTilesFitTheRegisters) {
    for (const CpuTiles &tiles : forward_rows_space().choices(machine_like_zen5())) {
        EXPECT_EQ(tiles.block_q % (16 * tiles.row_vectors), 0);
        EXPECT_LE(tiles.row_vectors * (std::max(tiles.tile_k, tiles.tile_v) + 1), 32);
    }
}

// What the build and the runtime expect of backward's tiles: kernels/cpu_schedules.cpp, backward_state.cpp.
TEST(TunerSpace, GradientTilesAreWholeAndFitTheRegisters) {
    with_every_space([](const TileSpace &space, const CpuSearchContext &machine) {
        if (&space != &backward_blocks_space()) return;
        for (const CpuTiles &tiles : space.choices(machine)) {
            EXPECT_EQ(tiles.width % machine.lanes, 0);
            EXPECT_EQ(tiles.width % tiles.tile_k, 0);
            EXPECT_EQ(tiles.block_q % tiles.tile_q, 0);
            EXPECT_EQ(tiles.block_k % tiles.width, 0);
            EXPECT_LE(tiles.block_q, 1024);
            EXPECT_LE(tiles.width / machine.lanes * (std::max(tiles.tile_q, tiles.tile_k) + 1), machine.registers);
        }
    });
    const CpuSearchContext avx2 = cpu_search_context("avx2", 4, 32 << 10, 512 << 10);
    const auto broken = [&](int block_q, int block_k, int tile_k, int width, int tile_q) {
        return backward_blocks_space().why_not_searched(
            backward_blocks_space().tiles_of({block_q, block_k, tile_k, width, tile_q}), avx2);
    };
    EXPECT_EQ(broken(60, 128, 4, 16, 6), "");
    EXPECT_NE(broken(64, 128, 4, 16, 6).find("block_q"), std::string::npos);
    EXPECT_NE(broken(60, 120, 4, 16, 6).find("block_k"), std::string::npos);
    EXPECT_NE(broken(60, 128, 6, 16, 6).find("tile_k"), std::string::npos);
    EXPECT_NE(broken(60, 128, 4, 12, 6).find("width"), std::string::npos);
    EXPECT_NE(broken(48, 128, 4, 16, 12).find("registers"), std::string::npos);
    EXPECT_NE(broken(64, 128, 2, 8, 4).find("latency"), std::string::npos);
    EXPECT_NE(broken(480, 512, 4, 16, 6).find("L2"), std::string::npos);
    EXPECT_NE(broken(60, 128, 4, 16, 0).find("tile_q: expected at least 1"), std::string::npos);
}

TEST(TunerSpace, SmallShapesNarrowIt) {
    for (const CpuTiles &tiles :
         forward_rows_space().choices(cpu_search_context("avx512", 4, 48 << 10, 1 << 20, {12, 8, 8}))) {
        EXPECT_LE(tiles.tile_k, 12);
        EXPECT_LE(tiles.tile_d, 8);
        EXPECT_LE(tiles.tile_v, 8);
    }
}

// The parameters here are those that the build compiles in, in the same order.
TEST(TunerSpace, NamesAreThoseOfTheKernels) {
    for (int i = 0; i < flashwright_kernel_count(); ++i) {
        const flashwright_kernel_info kernel = flashwright_kernel(i);
        const TileSpace *space = find_tile_space(kernel.op);
        if (space == nullptr) continue;
        std::vector<std::string> here, there;
        for (const TileParameter &parameter : space->parameters) here.emplace_back(parameter.name);
        const auto tiles = nlohmann::ordered_json::parse(kernel.tiles);
        for (const auto &[name, value] : tiles.items()) there.push_back(name);
        EXPECT_EQ(here, there) << kernel.name;
    }
}

// Also of what ships: a baseline is never outside of the rules that it is measured by.
TEST(TunerSpace, BaselinesKeepTheRules) {
    for (const KernelFamily &family : kernel_families({}, {}, {})) {
        EXPECT_EQ(family.space().why_not_searched(family.baseline_tiles, family.machine()), "") << family.name();
    }
}

TEST(TunerSpace, BaselineIsAPointAndOnlyRestricts) {
    const CpuTiles odd = {48, 77, 1, 16, 16, 16};
    const SearchSpace space =
        search_space(forward_rows_space(), machine_like_zen5(), {}, odd, {{"block_k", {64, 128}}});
    EXPECT_LT(space.find(forward_rows_space().point_of(odd)), space.size());
    for (std::size_t i = 0; i < space.size(); ++i) {
        const int block_k = forward_rows_space().tiles_of(space.point(i)).block_k;
        EXPECT_TRUE(block_k == 64 || block_k == 128 || block_k == 77);
    }
}

TEST(TunerSpace, PointsThatDifferAtRunTimeAreOneObject) {
    const SearchSpace space({"a", "b"}, {false, true}, {{1, 1}, {1, 2}, {1, 4}, {2, 1}});
    const std::size_t object = space.object_of(space.find({1, 2}));
    EXPECT_EQ(space.points_of_object(object),
              (std::vector<std::size_t>{space.find({1, 1}), space.find({1, 2}), space.find({1, 4})}));
    EXPECT_NE(space.object_of(space.find({2, 1})), object);
}

// A smooth space with one best point, and some that fail.
class TunerStrategy : public ::testing::TestWithParam<std::string> {
 protected:
    SearchSpace space =
        search_space(forward_rows_space(), machine_like_zen5(), {}, {32, 256, 2, 16, 8, 8}, {{"tile_d", {16}}});

    std::vector<double> ratio(std::size_t point) const {
        const CpuTiles t = forward_rows_space().tiles_of(space.point(point));
        if (t.tile_k == 14 && t.block_q == 64) return {};
        const auto far = [](double a, double b) { return std::pow(std::log(a / b), 2); };
        return {0.8 + 0.1 * far(t.block_q, 64) + 0.05 * far(t.block_k, 128) + 0.1 * far(t.tile_k, 12) +
                0.08 * far(t.tile_v, 8)};
    }

    std::vector<std::size_t> points_tried(std::size_t candidates, std::uint32_t seed) const {
        const auto strategy = make_strategy(GetParam(), space, {space.find({32, 256, 2, 16, 8, 8})}, seed);
        SearchHistory history(space.size(), 1);
        while (history.order().size() < candidates) {
            const auto batch =
                strategy->propose(history, std::min<std::size_t>(8, candidates - history.order().size()));
            if (batch.empty()) break;
            for (const std::size_t point : batch) {
                EXPECT_FALSE(history.tried(point)) << "proposed twice";
                history.add(point, ratio(point));
            }
        }
        EXPECT_EQ(history.order().size(), candidates);
        return history.order();
    }

    double best_after(std::size_t candidates, std::uint32_t seed) const {
        double best = 1e9;
        for (const std::size_t point : points_tried(candidates, seed)) {
            if (!ratio(point).empty()) best = std::min(best, ratio(point)[0]);
        }
        return best;
    }
};

TEST_P(TunerStrategy, ProposesEachPointOnceAndFindsAGoodOne) {
    double sum = 0;
    for (std::uint32_t seed = 1; seed <= 5; ++seed) sum += best_after(100, seed);
    // The best is about 0.8, the baseline about 0.95.
    EXPECT_LT(sum / 5, GetParam() == "exhaustive" ? 2 : GetParam() == "auto" ? 0.815 : 0.87);
}

// Points that need no compilation are favoured, but do not crowd out the others.
TEST_P(TunerStrategy, SharesCompilations) {
    if (GetParam() != "auto") return;
    constexpr std::size_t kCandidates = 60;
    for (std::uint32_t seed = 1; seed <= 5; ++seed) {
        std::set<std::size_t> objects;
        for (const std::size_t point : points_tried(kCandidates, seed)) objects.insert(space.object_of(point));
        EXPECT_LT(objects.size(), 45U);
        EXPECT_GT(objects.size(), 20U);
    }
}

TEST_P(TunerStrategy, ExhaustsASmallSpace) {
    const SearchSpace small({"a", "b"}, {false, false}, {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 5}});
    const auto strategy = make_strategy(GetParam(), small, {2}, 1);
    SearchHistory history(small.size(), 1);
    for (int batch = 0; batch < 10; ++batch) {
        for (const std::size_t point : strategy->propose(history, 3)) history.add(point, {1.0});
    }
    EXPECT_EQ(history.order().size(), small.size());
}

INSTANTIATE_TEST_SUITE_P(All, TunerStrategy, ::testing::ValuesIn(strategy_names()),
                         [](const auto &test) { return test.param == "auto" ? std::string("automatic") : test.param; });

}  // namespace
}  // namespace flashwright::test
