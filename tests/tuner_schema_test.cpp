// The enumerations of the configuration schema are those of the tables in kernels/.
#include "kernels/cpu_schedules.h"
#include "kernels/dtype.h"
#include "kernels/gpu_backend.h"
#include "kernels/gpu_tile_spaces.h"
#include "kernels/op.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <string>

namespace flashwright::test {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

const json &schema() {
    static const json schema = [] {
        std::ifstream file(FLASHWRIGHT_SOURCE_DIR "/docs/schemas/configuration-2.schema.json");
        return json::parse(file);
    }();
    return schema;
}

const json &at(const std::string &pointer) { return schema().at(json::json_pointer("/$defs" + pointer)); }

Names enumerated(const std::string &pointer) { return at(pointer + "/enum").get<Names>(); }

Names members(const std::string &pointer) {
    Names names;
    for (const auto &[name, value] : at(pointer + "/properties").items()) names.insert(name);
    return names;
}

template <typename Table>
Names names_of(const Table &table) {
    Names names;
    for (const auto &row : table) names.insert(row.name);
    return names;
}

TEST(TunerSchema, EnumeratesTheOperations) { EXPECT_EQ(enumerated("/cpu_entry/properties/op"), names_of(kOps)); }

TEST(TunerSchema, EnumeratesSchedulesAndTheirTiles) {
    Names tiles;
    for (const CpuSchedule &schedule : cpu_schedules())
        for (const CpuTileParameter &parameter : schedule.parameters) tiles.insert(parameter.name);
    const std::string variant = "/cpu_entry/properties/variants/items";
    EXPECT_EQ(enumerated(variant + "/properties/schedule"), names_of(kScheduleNames));
    EXPECT_EQ(members(variant + "/properties/tiles"), tiles);
}

TEST(TunerSchema, EnumeratesTheVocabularyOfGpuEntries) {
    Names dtypes;
    for (const Dtype &dtype : kDtypes)
        if (dtype.on_gpu) dtypes.insert(dtype.name);
    EXPECT_EQ(enumerated("/backend"), names_of(kGpuBackends));
    EXPECT_EQ(enumerated("/gpu_dtype"), dtypes);
    EXPECT_EQ(members("/gpu_backward/properties/passes"), names_of(kBackwardPasses));
    EXPECT_EQ(members("/gpu_forward_tiles"), names_of(gpu_tile_space(GpuPass::forward).parameters));
    for (const GpuPassRow &pass : kBackwardPasses)
        EXPECT_EQ(members("/gpu_backward_tiles"), names_of(gpu_tile_space(pass.pass).parameters));
    for (const char *tiles : {"/gpu_forward_tiles", "/gpu_backward_tiles"})
        EXPECT_EQ(at(std::string(tiles) + "/required").get<Names>(), members(tiles));
}

// So that an enumeration that is added to the schema is added to this test.
std::size_t enumerations_in(const json &value) {
    std::size_t count = value.is_object() && value.contains("enum") ? 1 : 0;
    for (const json &member : value)
        if (member.is_structured()) count += enumerations_in(member);
    return count;
}

TEST(TunerSchema, HasNoOtherEnumerations) {
    constexpr std::size_t kOfTheVocabulary = 4, kOfResults = 3;  // verdict twice, basis
    EXPECT_EQ(enumerations_in(schema()), kOfTheVocabulary + kOfResults);
}

}  // namespace
}  // namespace flashwright::test
