// Spaces and strategies, without a machine.
#include "flashwright/flashwright.h"
#include "search_space.h"
#include "strategy.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace flashwright::test {
namespace {

CpuSimdMachine machine_like_zen5() { return cpu_simd_machine("avx512", 4, 48 << 10, 1 << 20); }

TEST(TunerSpace, EveryPointKeepsTheRules) {
    for (const char *isa : {"baseline", "sse41", "avx2", "avx512"}) {
        for (const int element : {4, 8}) {
            const CpuSimdMachine machine = cpu_simd_machine(isa, element, 32 << 10, 512 << 10);
            const std::vector<CpuSimdTiles> space = forward_space(machine, {});
            EXPECT_GT(space.size(), 100U) << isa;
            for (const CpuSimdTiles &tiles : space) {
                EXPECT_EQ(tiles.block_q % (machine.lanes * tiles.row_vectors), 0);
                EXPECT_LE(tiles.row_vectors * (tiles.tile_k + 1), machine.registers);
                EXPECT_LE(std::int64_t{2} * tiles.block_q * tiles.block_k * element, machine.l2 / 2);
            }
            EXPECT_FALSE(forward_starts(machine).empty()) << isa;
        }
    }
    EXPECT_THROW(cpu_simd_machine("mmx", 4, 1, 1), std::invalid_argument);
}

TEST(TunerSpace, SmallShapesNarrowIt) {
    for (const CpuSimdTiles &tiles : forward_space(machine_like_zen5(), {12, 8, 8})) {
        EXPECT_LE(tiles.tile_k, 12);
        EXPECT_LE(tiles.tile_d, 8);
        EXPECT_LE(tiles.tile_v, 8);
    }
}

// The parameters here are those that the build compiles in.
TEST(TunerSpace, NamesAreThoseOfTheKernels) {
    std::set<std::string> here;
    for (const TileParameter &parameter : forward_parameters()) here.insert(parameter.name);
    for (int i = 0; i < flashwright_kernel_count(); ++i) {
        if (std::string(flashwright_kernel(i).op) != "forward") continue;
        std::set<std::string> there;
        const auto tiles = nlohmann::json::parse(flashwright_kernel(i).tiles);
        for (const auto &[name, value] : tiles.items()) there.insert(name);
        EXPECT_EQ(here, there) << flashwright_kernel(i).name;
    }
}

TEST(TunerSpace, DefaultIsAPointAndOnlyRestricts) {
    const CpuSimdTiles odd = {48, 77, 1, 16, 16, 16};
    const SearchSpace space = forward_search_space(machine_like_zen5(), {}, odd, {{"block_k", {64, 128}}});
    EXPECT_LT(space.find(point_of(odd)), space.size());
    for (std::size_t i = 0; i < space.size(); ++i) {
        const int block_k = tiles_of(space.point(i)).block_k;
        EXPECT_TRUE(block_k == 64 || block_k == 128 || block_k == 77);
    }
    EXPECT_THROW(forward_search_space(machine_like_zen5(), {}, odd, {{"block_x", {1}}}), std::invalid_argument);
}

// A smooth space with one best point, and some that fail.
class TunerStrategy : public ::testing::TestWithParam<std::string> {
 protected:
    SearchSpace space = forward_search_space(machine_like_zen5(), {}, {32, 256, 2, 16, 8, 8}, {{"tile_d", {16}}});

    std::vector<double> ratio(std::size_t point) const {
        const CpuSimdTiles t = tiles_of(space.point(point));
        if (t.tile_k == 14 && t.block_q == 64) return {};
        const auto far = [](double a, double b) { return std::pow(std::log(a / b), 2); };
        return {0.8 + 0.1 * far(t.block_q, 64) + 0.05 * far(t.block_k, 128) + 0.1 * far(t.tile_k, 12) +
                0.08 * far(t.tile_v, 8)};
    }

    double best_after(std::size_t candidates, std::uint32_t seed) const {
        const auto strategy = make_strategy(GetParam(), space, {space.find({32, 256, 2, 16, 8, 8})}, seed);
        SearchHistory history(space.size(), 1);
        std::set<std::size_t> seen;
        while (seen.size() < candidates) {
            const auto batch = strategy->propose(history, std::min<std::size_t>(8, candidates - seen.size()));
            if (batch.empty()) break;
            for (const std::size_t point : batch) {
                EXPECT_TRUE(seen.insert(point).second) << "proposed twice";
                history.add(point, ratio(point));
            }
        }
        EXPECT_EQ(seen.size(), candidates);
        return history.best(0);
    }
};

TEST_P(TunerStrategy, ProposesEachPointOnceAndFindsAGoodOne) {
    double sum = 0;
    for (std::uint32_t seed = 1; seed <= 5; ++seed) sum += best_after(100, seed);
    // The best is about 0.8, the default about 0.95.
    EXPECT_LT(sum / 5, GetParam() == "exhaustive" ? 2 : GetParam() == "auto" ? 0.815 : 0.87);
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
                         [](const auto &info) { return info.param == "auto" ? std::string("automatic") : info.param; });

}  // namespace
}  // namespace flashwright::test
