#include "winners_form.h"

#include "kernels/tile_spaces.h"
#include "tuner/candidates/kernel_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::ordered_json;
using Names = std::set<std::string>;

constexpr std::int64_t kLargestTile = 65536, kLargestExtent = std::int64_t{1} << 30;

const Names kOps = {"forward", "backward", "merge", "step"}, kDtypes = {"f32", "f64"};
const Names kIsas = {"baseline", "sse41", "avx2", "avx512", "neon"}, kTerms = {"softcap", "alibi", "bias", "mask"};

void expect_one_of(const ordered_json &value, const Names &names, const char *what) {
    if (!value.is_string() || names.count(value.get<std::string>()) == 0)
        throw std::runtime_error(fmt::format("{}: expected one of {}", what, fmt::join(names, ", ")));
}

void expect_extent(const ordered_json &value, std::int64_t largest, const std::string &what) {
    if (!value.is_number_integer() || value < 1 || value > largest)
        throw std::runtime_error(fmt::format("{}: expected a whole number from 1 to {}", what, largest));
}

Names terms_of(const ordered_json &kernel) {
    Names terms;
    for (const auto &term : kernel.at("terms")) terms.insert(term.get<std::string>());
    return terms;
}

// What a kernel is: without it an entry means nothing.
void check_entry(const ordered_json &kernel) {
    if (!kernel.is_object()) throw std::runtime_error("expected an object");
    expect_one_of(kernel.at("op"), kOps, "op");
    expect_one_of(kernel.at("dtype"), kDtypes, "dtype");
    expect_one_of(kernel.at("isa"), kIsas, "isa");
    if (!kernel.at("terms").is_array()) throw std::runtime_error("terms: expected an array");
    for (const auto &term : kernel["terms"]) expect_one_of(term, kTerms, "terms");
    if (!kernel.at("default").is_string()) throw std::runtime_error("default: expected the id of a variant");
    if (!kernel.at("variants").is_array()) throw std::runtime_error("variants: expected an array");
    const auto table = kernel.find("table");
    if (table != kernel.end() && !table->is_array()) throw std::runtime_error("table: expected an array");
}

// Of an op that the tuner does not know the build checks more. Defaults and generic variants keep no rules of a space.
void check_tiles(const ordered_json &kernel, const ordered_json &variant) {
    const ordered_json &tiles = variant.at("tiles");
    if (!tiles.is_object()) throw std::runtime_error("tiles: expected an object");
    for (const auto &[name, value] : tiles.items()) expect_extent(value, kLargestTile, name);
    const TileSpace *space = find_tile_space(kernel["op"]);
    if (space == nullptr) return;
    CpuSimdTiles choice = {};
    for (const TileParameter &parameter : space->parameters)
        choice.*parameter.member = tiles.at(parameter.name).get<int>();
    if (tiles.size() != space->parameters.size()) throw std::runtime_error("tiles: expected no others");
    if (variant["id"] == kernel["default"] || variant.value("generic", false)) return;
    const KernelFamily family = {kernel["op"], kernel["dtype"], kernel["isa"], "", {}};
    const std::string broken = space->broken_rule(choice, family.machine(), {});
    if (!broken.empty()) throw std::runtime_error("expected that " + broken);
}

void check_variant(const ordered_json &kernel, const ordered_json &variant) {
    static const std::regex form("[a-z][a-z0-9]*");
    if (!variant.is_object() || !std::regex_match(variant.at("id").get_ref<const std::string &>(), form))
        throw std::runtime_error("id: expected a lower-case letter, then lower-case letters and digits");
    const auto generic = variant.find("generic");
    if (generic != variant.end() && !generic->is_boolean()) throw std::runtime_error("generic: expected a truth value");
    check_tiles(kernel, variant);
}

bool is_listed(const ordered_json &kernel, const ordered_json &id) {
    const ordered_json &variants = kernel["variants"];
    return id == kernel["default"] ||
           std::any_of(variants.begin(), variants.end(), [&](const auto &variant) { return variant["id"] == id; });
}

// `kernel` holds the variants and rows before it.
void check_row(const ordered_json &kernel, const ordered_json &row) {
    if (!kernel["terms"].empty()) throw std::runtime_error("only an entry without terms may have a table");
    for (const char *member : {"seqlen_q", "seqlen_k", "head_dim"})
        expect_extent(row.at("shape").at(member), kLargestExtent, member);
    if (!row.at("shape").at("causal").is_boolean()) throw std::runtime_error("causal: expected a truth value");
    if (!is_listed(kernel, row.at("variant"))) throw std::runtime_error("variant: expected one that is listed");
    if (!row.at("ratio").is_number() || !(row["ratio"] > 0))
        throw std::runtime_error("ratio: expected a positive number");
    for (const auto &other : kernel["table"])
        if (same_shape(other, row)) throw std::runtime_error("a second row of this shape");
}

// Those of `all` that pass.
template <typename Check>
void take(ordered_json &taken, const ordered_json &all, const std::string &where, std::vector<std::string> *problems,
          const Check &check) {
    taken = ordered_json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
        try {
            check(all[i]);
            taken.push_back(all[i]);
        } catch (const std::exception &error) {
            problems->push_back(fmt::format("{}[{}]: {}", where, i, error.what()));
        }
    }
}

ordered_json usable_kernel(const ordered_json &kernel, const std::string &where, std::vector<std::string> *problems) {
    ordered_json usable = kernel;
    take(usable["variants"], kernel["variants"], where + ".variants", problems,
         [&](const ordered_json &variant) { check_variant(kernel, variant); });
    usable["table"] = ordered_json::array();
    take(usable["table"], kernel.value("table", ordered_json::array()), where + ".table", problems,
         [&](const ordered_json &row) { check_row(usable, row); });
    return usable;
}

}  // namespace

bool same_shape(const nlohmann::ordered_json &a, const nlohmann::ordered_json &b) {
    for (const char *member : {"seqlen_q", "seqlen_k", "head_dim", "causal"})
        if (a["shape"][member] != b["shape"][member]) return false;
    return true;
}

bool same_kernel(const nlohmann::ordered_json &a, const nlohmann::ordered_json &b) {
    return a["op"] == b["op"] && a["dtype"] == b["dtype"] && a["isa"] == b["isa"] && terms_of(a) == terms_of(b);
}

nlohmann::ordered_json usable_part(const nlohmann::ordered_json &file, std::vector<std::string> *problems) {
    if (!file.is_object()) throw std::runtime_error("expected a JSON object");
    if (file.at("schema_version") != kWinnersVersion)
        throw std::runtime_error(
            fmt::format("schema_version is {}, expected {}", file["schema_version"].dump(), kWinnersVersion));
    if (!file.at("machine").is_object()) throw std::runtime_error("machine: expected an object");
    if (!file.at("kernels").is_array()) throw std::runtime_error("kernels: expected an array");
    ordered_json usable = file;
    take(usable["kernels"], file["kernels"], "kernels", problems, check_entry);
    for (std::size_t i = 0; i < usable["kernels"].size(); ++i)
        usable["kernels"][i] = usable_kernel(usable["kernels"][i], fmt::format("kernels[{}]", i), problems);
    return usable;
}

}  // namespace flashwright
