// Static analysis of GPU kernels, without a device or the CUDA tools.
#include "kernels/gpu_tile_spaces.h"
#include "kernels/score_term.h"
#include "tuner/cuda/cuda_tools.h"
#include "tuner/cuda/gpu_configuration.h"
#include "tuner/cuda/gpu_measurement_plan.h"
#include "tuner/cuda/gpu_model.h"
#include "tuner/cuda/sass_listing.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace flashwright::test {
namespace {

const GpuConfiguration &shipped_configuration() {
    static const GpuConfiguration configuration =
        read_gpu_configuration(FLASHWRIGHT_SOURCE_DIR "/configs/gpu.json", *find_gpu_backend("cuda"));
    return configuration;
}

const GpuArchitecture &architecture(const std::string &name) {
    for (const GpuArchitecture &candidate : gpu_architectures()) {
        if (candidate.name == name) return candidate;
    }
    throw std::invalid_argument(name);
}

TEST(TunerGpuSpace, HoldsSomeHundredsOfChoicesAndEachKeepsTheRules) {
    for (const int head_dim : {32, 64, 128, 256}) {
        SCOPED_TRACE(head_dim);
        const GpuTileSpace &space = cuda_forward_space();
        const GpuTileContext context = cuda_forward_context(head_dim);
        std::set<std::vector<int>> points;
        for (const GpuTiles &tiles : space.choices(context)) {
            const std::vector<int> point = space.point_of(tiles);
            EXPECT_TRUE(points.insert(point).second);
            EXPECT_EQ(space.point_of(space.tiles_of(point, context)), point);
            EXPECT_EQ(tiles.threads % 32, 0);
            const int own = head_dim / tiles.threads_per_row;
            EXPECT_EQ(own % tiles.tile_d + tiles.tile_d % 4, 0);
            EXPECT_EQ(own % tiles.tile_v + tiles.tile_v % 4, 0);
            EXPECT_LE(tiles.threads * tiles.rows * (own + 4) * 4, 48 << 10);
            EXPECT_LE(gpu_least_registers(tiles, GpuPass::forward), 255);
        }
        EXPECT_GT(points.size(), 100U);
        EXPECT_LT(points.size(), 2000U);
        EXPECT_FALSE(space.starts(context).empty());
        for (const GpuTiles &start : space.starts(context)) EXPECT_EQ(points.count(space.point_of(start)), 1U);
    }
}

TEST(TunerGpuSpace, SaysWhichRuleIsBroken) {
    const GpuTiles good = {64, 64, 2, 16, 4, 8};
    const auto why = [](const GpuTiles &tiles) {
        return cuda_forward_space().why_not_searched(tiles, cuda_forward_context(tiles.head_dim));
    };
    EXPECT_EQ(why(good), "");
    const auto broken = [&](int GpuTiles::*member, int value) {
        GpuTiles tiles = good;
        tiles.*member = value;
        return why(tiles);
    };
    EXPECT_NE(broken(&GpuTiles::rows, 0).find("rows: expected at least 1, got 0"), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::threads, 48).find("multiple of 32"), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::tile_d, 12).find("tile_d: "), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::tile_v, 2).find("tile_v: "), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::threads_per_row, 3).find("threads_per_row: expected a power of 2"), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::threads_per_row, 32).find("head_dim: expected a multiple of 128, got 64"),
              std::string::npos);
    EXPECT_NE(broken(&GpuTiles::threads_per_row, 4).find("32 channels"), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::threads, 96).find("49152 bytes"), std::string::npos);
    EXPECT_NE(broken(&GpuTiles::block_k, 56).find("255 registers"), std::string::npos);
    EXPECT_NE(why({32, 128, 4, 4, 4, 4}).find("49152 bytes"), std::string::npos);
    EXPECT_NE(why({16, 512, 1, 4, 4, 4}).find("256 rows"), std::string::npos);
    EXPECT_NE(why({128, 32, 1, 48, 16, 16}).find("6144"), std::string::npos);
}

TEST(TunerGpuSpace, PassesOfBackwardHaveRulesOfTheirOwn) {
    const auto why = [](GpuPass pass, const GpuTiles &tiles) {
        GpuTileContext context;
        context.pass = pass;
        return gpu_tile_space(pass).why_not_searched(tiles, context);
    };
    const GpuTiles good = {64, 64, 1, 16, 4, 8};
    for (const GpuPass pass : {GpuPass::dq, GpuPass::dk, GpuPass::dv, GpuPass::dk_dv, GpuPass::dbias}) {
        EXPECT_EQ(why(pass, good), "");
        EXPECT_EQ(why(pass, {64, 64, 1, 16, 4, 8, 2}), "threads_per_row: expected 1 in a pass of backward, got 2");
        EXPECT_EQ(why(pass, {64, 96, 1, 16, 4, 8}),
                  "threads, rows, head_dim: expected at most 49152 bytes of shared memory with cuda, got 50688");
    }
    const GpuTiles two_rows = {64, 32, 2, 40, 4, 8};  // registers of a thread: 2 x (gradients + scores + sums) + 6
    EXPECT_EQ(why(GpuPass::dv, two_rows), "");
    EXPECT_NE(why(GpuPass::dq, two_rows).find("255 registers, got 310"), std::string::npos);
    EXPECT_NE(why(GpuPass::dk_dv, two_rows).find("255 registers, got 438"), std::string::npos);
    EXPECT_EQ(why(GpuPass::dbias, {64, 64, 1, 16, 4, 6}), "");  // it sums no channels
}

// Threads that share a row own each channel once, and a row of the result has a column for each.
TEST(TunerGpuSpace, ThreadsOfARowOwnEveryChannelOnce) {
    for (const int threads : {1, 2, 4}) {
        const GpuTiles tiles = {64, 64, 2, 16, 8, 8, threads};
        std::set<int> channels;
        for (int lane = 0; lane < threads; ++lane) {
            for (int own = 0; own < tiles.channels_per_thread(); ++own) {
                const int channel = tiles.channel(lane, own);
                EXPECT_TRUE(channels.insert(channel).second);
                EXPECT_EQ(tiles.result_layout(4).column_of(channel), lane * (tiles.channels_per_thread() + 4) + own);
            }
        }
        EXPECT_EQ(channels.size(), 64U);
        EXPECT_EQ(*channels.rbegin(), 63);
        EXPECT_EQ(tiles.result_columns(4), 64 + 4 * threads);
    }
}

TEST(TunerGpuSpace, TakesTheKernelsThatShip) {
    const std::vector<ConfiguredKernel> kernels = forward_gpu_kernels(shipped_configuration());
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(kernels.front().name, "forward_f32_cuda_d32");
    for (const ConfiguredKernel &kernel : kernels)
        EXPECT_EQ(cuda_forward_space().why_not_searched(kernel.tiles, cuda_forward_context(kernel.tiles.head_dim)), "")
            << kernel.name;
}

// As NVIDIA's occupancy calculator has them.
TEST(TunerGpuModel, OccupancyOfKnownKernels) {
    const auto warps = [](const char *name, const GpuResources &resources) {
        return resident_warps(architecture(name), resources);
    };
    EXPECT_EQ(warps("sm_80", {256, 32, 0}), 64);
    EXPECT_EQ(warps("sm_80", {256, 64, 0}), 32);
    EXPECT_EQ(warps("sm_80", {256, 65, 0}), 24);  // 72 registers: 28 warps, three blocks of eight
    EXPECT_EQ(warps("sm_80", {64, 255, 0}), 8);
    EXPECT_EQ(warps("sm_80", {64, 200, 0}), 8);        // ten would fit, but schedulers get them by four
    EXPECT_EQ(warps("sm_80", {32, 16, 0}), 32);        // no more blocks
    EXPECT_EQ(warps("sm_80", {64, 32, 48 << 10}), 6);  // three times 49 KB of 164
    EXPECT_EQ(warps("sm_90", {64, 32, 48 << 10}), 8);  // four times of 228
    EXPECT_EQ(warps("sm_80", {1024, 128, 0}), 0);
    EXPECT_EQ(warps("sm_80", {2048, 16, 0}), 0);
    EXPECT_DOUBLE_EQ(occupancy(architecture("sm_100"), {64, 255, 0}), 0.125);
}

TEST(TunerGpuModel, CyclesFollowTheFormula) {
    const GpuResources two_each = {64, 255, 0};  // warps of a scheduler
    const auto cycles = [&](const char *name, const LoopCost &loop) {
        return cycles_per_multiply_add(architecture(name), two_each, loop);
    };
    EXPECT_DOUBLE_EQ(cycles("sm_90", {1000, 800, 1000}), 1.25);         // nobody waits
    EXPECT_DOUBLE_EQ(cycles("sm_90", {1000, 800, 2000}), 1.25 / 0.75);  // both wait a quarter of the time
    EXPECT_DOUBLE_EQ(cycles("sm_80", {1000, 800, 2000}), 2.0);          // half as many lanes
    EXPECT_DOUBLE_EQ(cycles("sm_80", {1000, 400, 1000}), 2.5);
    EXPECT_TRUE(std::isinf(cycles_per_multiply_add(architecture("sm_80"), {2048, 16, 0}, {1000, 800, 1000})));
}

TEST(TunerGpuTools, ReadsTheReportOfPtxas) {
    const PtxasReport report = parse_ptxas_report(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'kernel' for 'sm_90'\n"
        "ptxas info    : Function properties for kernel\n"
        "    16 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 468 "
        "bytes "
        "cmem[0]\n");
    EXPECT_EQ(report.registers, 255);
    EXPECT_EQ(report.spilled, 32);
    EXPECT_EQ(report.shared_bytes, 1024);
    EXPECT_THROW(parse_ptxas_report("ptxas fatal   : nothing"), std::runtime_error);
}

TEST(TunerGpuTools, KnowsArchitecturesByTheirWholeNames) {
    const auto known = known_architectures("Allowed values: 'sm_80','sm_90a','sm_100'");
    ASSERT_EQ(known.size(), 2U);
    EXPECT_STREQ(known[0].name, "sm_80");
    EXPECT_STREQ(known[1].name, "sm_100");
    EXPECT_TRUE(known_architectures("").empty());
}

// A loop over blocks with a loop over channels in it, then a tighter one of another kind, and the jump that ends the
// code.
constexpr const char *kListing = R"(
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   CS2R R4, SRZ ;
.L_x_0:
        /*0020*/                   LDG.E.128.CONSTANT R8, [R2.64+0x10] ;
        /*0030*/                   LDS R16, [R0] ;
        /*0040*/                   FFMA R4, R8, R16, R4 ;
        /*0050*/                   FFMA R5, R9, R16, R5 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
        /*0070*/                   FFMA R20, R4, R5, R20 ;
        /*0080*/                   FFMA R21, R4, R5, R21 ;
        /*0090*/                   FFMA R22, R4.reuse, R5, R22 ;
        /*00a0*/                   FFMA R23, R4, R5, R23 ;
        /*00b0*/              @!P1 BRA `(.L_x_1) ;
.L_x_2:
        /*00c0*/                   FFMA R30, R4, R5, R30 ;
        /*00d0*/               @P2 BRA `(.L_x_2) ;
        /*00e0*/                   EXIT;
.L_x_3:
        /*00f0*/                   BRA `(.L_x_3);
.L_x_4:
)";

TEST(TunerGpuListing, FindsInstructionsAndLoops) {
    const SassListing listing = parse_sass(kListing);
    ASSERT_EQ(listing.instructions.size(), 16U);
    EXPECT_EQ(listing.instructions[0].opcode, "MOV");
    EXPECT_EQ(listing.instructions[2].opcode, "LDG");
    EXPECT_EQ(listing.instructions[2].writes, 8);
    EXPECT_EQ(listing.instructions[2].written, 4);
    EXPECT_EQ(listing.instructions[2].reads, std::vector<int>{2});
    EXPECT_EQ(listing.instructions[9].reads, (std::vector<int>{4, 5, 22}));
    EXPECT_EQ(listing.instructions[14].opcode, "EXIT");
    ASSERT_EQ(listing.loops.size(), 3U);
    EXPECT_EQ(listing.loops[0].first, 2U);
    EXPECT_EQ(listing.loops[0].last, 6U);
    EXPECT_EQ(listing.loops[1].first, 1U);
    EXPECT_EQ(listing.loops[1].last, 11U);
}

TEST(TunerGpuListing, CountsTheLoopOverBlocksWithItsLoopOverChannelsAsOftenAsItRuns) {
    // One row, one key, four channels: four multiply-adds of each product.
    const LoopCost cost = hot_loop(parse_sass(kListing), {4, 32, 1, 1, 4, 4});
    EXPECT_EQ(cost.multiply_adds, 2 * 2 + 4);
    EXPECT_EQ(cost.instructions, 1 + 2 * 5 + 5);
    // Each pass over channels waits for its load; the last product for the sums.
    const double global = (260 + 7 * 40) / 8.0;
    EXPECT_EQ(cost.cycles_alone, 1 + 2 * (1 + global + 2) + 3 + 4);
    EXPECT_THROW(hot_loop(parse_sass(kListing), {64, 32, 2, 16, 4, 4}), std::runtime_error);
    EXPECT_THROW(hot_loop(parse_sass("no code"), {4, 32, 1, 1, 4, 4}), std::runtime_error);
}

TEST(TunerGpuConfiguration, KeepsWhatIsNotTuned) {
    std::ifstream file(FLASHWRIGHT_SOURCE_DIR "/configs/gpu.json");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(configuration_text(shipped_configuration().json), text.str());
}

AnalyzedGpuTiles tried(const GpuTiles &tiles, double ratio, bool spills = false) {
    AnalyzedGpuTiles result;
    result.tiles = tiles;
    result.analysis.spills = spills;
    result.ratios = {ratio, ratio};
    return result;
}

TEST(TunerGpuShortlist, HasTheBestButFewThatAreAlike) {
    const std::vector<AnalyzedGpuTiles> all = {
        tried({64, 64, 2, 16, 4, 8}, 1),         // the baseline
        tried({64, 64, 2, 8, 4, 8}, 0.8),        // second
        tried({64, 64, 1, 16, 4, 8}, 0.7),       // best
        tried({64, 64, 1, 12, 4, 8}, 0.6, true)  // spills
    };
    EXPECT_EQ(gpu_shortlist(all, 8), (std::vector<std::size_t>{2, 1}));
    EXPECT_EQ(gpu_shortlist(all, 1), (std::vector<std::size_t>{2}));
    std::vector<AnalyzedGpuTiles> alike = all;
    for (const int threads : {32, 64, 128}) alike.push_back(tried({64, threads, 4, 8, 8, 16}, 0.5));
    EXPECT_EQ(gpu_shortlist(alike, 8), (std::vector<std::size_t>{4, 5, 2, 1}));
    EXPECT_EQ(gpu_shortlist({}, 8), std::vector<std::size_t>{});
}

TEST(TunerGpuShapes, BelongToTheKernelThatTakesThem) {
    std::vector<ConfiguredKernel> kernels(3);
    kernels[0].tiles.head_dim = 32;
    kernels[1].tiles.head_dim = 64;
    kernels[2].tiles.head_dim = 32;
    kernels[2].terms = kBias;
    for (ConfiguredKernel &kernel : kernels) kernel.assume_finite = true;
    const std::vector<ShapeSpec> given = {parse_shape_spec("1,1,1,8,8,32"), parse_shape_spec("1,1,1,8,8,20,40"),
                                          parse_shape_spec("1,1,1,8,8,65")};
    const auto names = [&](const ConfiguredKernel &kernel) {
        std::vector<std::string> texts;
        for (const ShapeSpec &shape : shapes_of(kernel, kernels, given)) texts.push_back(to_string(shape));
        return texts;
    };
    EXPECT_EQ(names(kernels[0]), std::vector<std::string>{"1,1,1,8,8,32"});
    EXPECT_EQ(names(kernels[1]), std::vector<std::string>{"1,1,1,8,8,20,40"});
    EXPECT_EQ(names(kernels[2]), std::vector<std::string>{"1,1,1,8,8,32"});
    EXPECT_EQ(shapes_of(kernels[1], kernels, {}).size(), 3U);
    for (const ShapeSpec &shape : shapes_of(kernels[1], kernels, {})) EXPECT_EQ(shape.head_dim, 64);
}

}  // namespace
}  // namespace flashwright::test
