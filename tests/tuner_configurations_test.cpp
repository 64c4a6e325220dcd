// The readers of configurations: older versions, and mistakes in files of GPU kernels.
#include "kernels/configuration.h"
#include "kernels/gpu_configuration.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flashwright::test {
namespace {

const GpuBackend &cuda() { return *find_gpu_backend("cuda"); }

std::string cpu_entry(const std::string &variants, const std::string &default_id, const std::string &row_variant) {
    return R"({"schema_version": 1, "kernels": [{"op": "forward", "dtype": "f32", "isa": "avx2", "terms": [], "variants": [)" +
           variants + R"(], "default": ")" + default_id +
           R"(", "table": [{"shape": {"seqlen_q": 1, "seqlen_k": 64, "head_dim": 64, "causal": false}, "variant": ")" +
           row_variant + R"(", "ratio": 0.5}]}]})";
}

TEST(TunerConfigurations, VersionOneOfCpuFilesIsUpgraded) {
    const std::string decode =
        R"("tiles": {"block_q": 1, "block_k": 128, "row_vectors": 1, "tile_d": 8, "tile_k": 16, "tile_v": 16}})";
    std::string four = decode;
    four.replace(four.find("\"block_q\": 1"), 12, "\"block_q\": 4");
    const std::string rows =
        R"("tiles": {"block_q": 24, "block_k": 128, "row_vectors": 3, "tile_d": 8, "tile_k": 4, "tile_v": 4}})";
    const std::string portable =
        R"("tiles": {"block_q": 8, "block_k": 64, "row_vectors": 1, "tile_d": 1, "tile_k": 1, "tile_v": 1}})";
    const Configuration configuration = parse_configuration(
        "old.json", cpu_entry(R"({"id": "v0", )" + rows + R"(, {"id": "portable", "portable": true, )" + portable +
                                  R"(, {"id": "one", )" + decode + R"(, {"id": "four", )" + four,
                              "one", "four"));
    ASSERT_EQ(configuration.entries.size(), 1U);
    const KernelEntry &entry = configuration.entries[0];
    std::vector<std::string> variants;
    for (const KernelVariant &variant : entry.variants) variants.push_back(variant.id + " " + variant.schedule->name());
    EXPECT_EQ(variants,
              (std::vector<std::string>{"v0 rows", "generic generic", "decode_q1 decode", "decode_q4 decode"}));
    EXPECT_EQ(entry.default_id, "decode_q1");
    ASSERT_EQ(entry.table.size(), 1U);
    EXPECT_EQ(entry.table[0].variant, "decode_q4");
    EXPECT_EQ(configuration.json["schema_version"], 2);
    EXPECT_FALSE(configuration.json["kernels"][0]["variants"][1].contains("portable"));
}

constexpr const char *kTiles = R"("threads": 64, "rows": 2, "block_k": 20, "tile_d": 4, "tile_v": 8)";

TEST(TunerConfigurations, VersionOneOfGpuFilesIsUpgraded) {
    const GpuConfiguration configuration = parse_gpu_configuration(
        "old.json",
        std::string(
            R"({"version": 1, "comment": "old", "kernels": [{"op": "forward", "backend": "cuda", "terms": ["mask", "bias"],
                "assume_finite": false, "head_dim": 128, "tiles": {)") +
            kTiles + R"(, "parts": 4}}]})",
        cuda());
    ASSERT_EQ(configuration.entries.size(), 1U);
    EXPECT_EQ(configuration.entries[0].tiles.threads_per_row, 4);
    EXPECT_EQ(configuration.entries[0].name_on(cuda()), "forward_bias_mask_f32_cuda_d128_nansafe");
    EXPECT_EQ(configuration.json.begin().key(), "schema_version");
    EXPECT_EQ(configuration.json["schema_version"], 2);
    EXPECT_EQ(configuration.json["comment"], "old");
    EXPECT_EQ(configuration.json["kernels"][0]["tiles"]["threads_per_row"], 4);
    EXPECT_FALSE(configuration.json["kernels"][0]["tiles"].contains("parts"));
}

TEST(TunerConfigurations, GpuKernelsThatShipAreRead) {
    for (const GpuBackend &backend : kGpuBackends) {
        const GpuConfiguration configuration =
            read_gpu_configuration(std::string(FLASHWRIGHT_SOURCE_DIR "/configs/") + backend.configuration, backend);
        EXPECT_FALSE(configuration.entries.empty());
    }
}

struct Mistake {
    const char *text, *message;
};

// Each `text` takes the place of the entry on line 3.
constexpr Mistake kMistakes[] = {
    {R"({"op": "merge"})", R"(3:8: op: expected one of forward, backward, got "merge")"},
    {R"({"op": "forward", "isa": "avx2"})",
     R"(3:26: expected any of the members op, terms, assume_finite, head_dim, tiles, backend, dtype, got "isa")"},
    {R"({"op": "forward", "terms": [], "assume_finite": true, "head_dim": 64})",
     R"(3:1: expected a member "tiles", got none)"},
    {R"({"op": "forward", "backend": "vulkan", "terms": [], "assume_finite": true, "head_dim": 64, "tiles": {}})",
     R"(3:30: backend: expected one of opencl, cuda, got "vulkan")"},
    {R"({"op": "forward", "dtype": "f64", "terms": [], "assume_finite": true, "head_dim": 64, "tiles": {}})",
     R"(3:28: dtype: expected an element type that has GPU kernels, got "f64")"},
    {R"({"op": "forward", "terms": [], "assume_finite": 1, "head_dim": 64, "tiles": {}})",
     "3:49: assume_finite: expected true or false, got 1"},
    {R"({"op": "forward", "terms": [], "assume_finite": true, "head_dim": 64.5, "tiles": {}})",
     "3:67: head_dim: expected a whole number from 1 to 65536, got 64.5"},
    {R"({"op": "forward", "terms": [], "assume_finite": true, "head_dim": 64, "tiles": {"threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 8}})",
     R"(3:80: expected a member "threads_per_row", got none)"},
    {R"({"op": "forward", "terms": [], "assume_finite": true, "head_dim": 64, "tiles": {"threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 12, "threads_per_row": 1}})",
     "3:80: tile_v: expected a divisor of the 64 channels of a thread, got 12"},
    {R"({"op": "forward", "terms": [], "assume_finite": true, "head_dim": 64, "tiles": {"threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 8, "threads_per_row": 2}})",
     "3:80: threads_per_row: expected 1 without CUDA, where threads cannot exchange registers, got 2"},
    {R"({"op": "backward", "terms": [], "assume_finite": true, "head_dim": 64, "passes": {"dx": {}}})",
     R"(3:89: expected any of the members dbias, dk, dk+dv, dq, dv, got "dx")"},
    {R"({"op": "backward", "terms": [], "assume_finite": true, "head_dim": 64, "passes": {"dq": {"threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 8}}})",
     "3:82: passes: expected dq, either dk+dv or both dk and dv, and no dbias, got dq"},
    {R"({"op": "backward", "op": "forward"})", R"(3:20: expected each member once, got "op" again)"},
    {R"({"op": "forward"} // of CUDA)", "3:19: "},
};

std::string error_of(const std::string &text) {
    try {
        parse_gpu_configuration("gpu.json", text, cuda());
    } catch (const ConfigurationError &error) {
        return error.what();
    }
    return "none";
}

TEST(TunerConfigurations, MistakesInGpuFilesAreNamedWithTheirPlace) {
    for (const Mistake &mistake : kMistakes) {
        const std::string error =
            error_of(std::string("{\"schema_version\": 2,\n\"kernels\": [\n") + mistake.text + "\n]}");
        EXPECT_EQ(error.substr(0, std::string("gpu.json:").size() + std::string(mistake.message).size()),
                  std::string("gpu.json:") + mistake.message)
            << error;
    }
}

TEST(TunerConfigurations, UnknownTermIsNamedWithTheKnownOnes) {
    std::string known;
    for (const ScoreTermRow &term : kScoreTerms) known += (known.empty() ? "" : ", ") + std::string(term.name);
    const std::string entry =
        R"({"op": "forward", "terms": ["softcap", "slope"], "assume_finite": true, "head_dim": 64, "tiles": {}})";
    EXPECT_EQ(error_of("{\"schema_version\": 2,\n\"kernels\": [\n" + entry + "\n]}"),
              "gpu.json:3:40: expected one of " + known + ", got \"slope\"");
}

TEST(TunerConfigurations, BytesOfValueZeroAndDeepNestingAreRefused) {
    const std::string entries = R"({"schema_version": 2, "kernels": []})";
    EXPECT_EQ(error_of(entries + '\0' + "junk"), "gpu.json:1:37: expected a text, got a byte of value 0");
    EXPECT_EQ(error_of(std::string(101, '[')), "gpu.json:1:101: expected at most 100 levels of arrays and objects");
}

TEST(TunerConfigurations, MistakesAroundTheEntriesOfGpuFilesAreNamed) {
    EXPECT_EQ(error_of(R"({"kernels": []})"), R"(gpu.json:1:1: expected a member "schema_version", got none)");
    EXPECT_EQ(error_of(R"({"version": 2, "kernels": []})"),
              "gpu.json:1:13: version: expected a whole number from 1 to 1, got 2");
    EXPECT_EQ(
        error_of(R"({"schema_version": 2, "kernels": [], "evidence": {"forward_f32_cuda_d64": {"basis": "guess"}}})"),
        R"(gpu.json:1:85: basis: expected one of measured, predicted, got "guess")");
    EXPECT_EQ(error_of(R"({"schema_version": 2, "kernels": []} {})").find("gpu.json:1:3"), 0U);
}

TEST(TunerConfigurations, AGpuKernelIsThereOnce) {
    const std::string tiles =
        std::string(R"("terms": [], "assume_finite": true, "head_dim": 64, "tiles": {)") +
        R"("threads": 64, "rows": 1, "block_k": 8, "tile_d": 4, "tile_v": 8, "threads_per_row": 1}})";
    EXPECT_EQ(error_of("{\"schema_version\": 2, \"kernels\": [\n{\"op\": \"forward\", " + tiles +
                       ",\n{\"op\": \"forward\", \"backend\": \"cuda\", " + tiles + "]}"),
              "gpu.json:3:1: expected one entry of forward_f32_cuda_d64, got a second one");
}

}  // namespace
}  // namespace flashwright::test
