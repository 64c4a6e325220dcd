#include "configuration.h"

#include "configuration_values.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace flashwright {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 30, kLargestTile = std::int64_t{1} << 30;

const Dtype *read_dtype(const JsonNode &node) {
    const Dtype *dtype = named_row(node, kDtypes, [](const std::string &name) { return find_dtype(name); });
    if (!dtype->on_cpu) node.expect("an element type that has CPU kernels");
    return dtype;
}

}  // namespace

unsigned read_terms(const JsonNode &node) {
    if (!node.json().is_array()) node.expect("an array of score terms");
    unsigned terms = 0;
    for (const JsonNode &element : node.elements()) {
        const auto *term =
            named_row(element, kScoreTerms, [](const std::string &name) { return find_score_term(name); });
        if ((terms & term->bit) != 0) element.expect("each term once");
        terms |= term->bit;
    }
    return terms;
}

namespace {

CpuTiles read_tiles(const JsonNode &node, const CpuSchedule &schedule, int lanes) {
    std::vector<std::string> names;
    for (const CpuTileParameter &parameter : schedule.parameters) names.emplace_back(parameter.name);
    node.expect_members(names);
    CpuTiles tiles = {};
    for (const CpuTileParameter &parameter : schedule.parameters)
        tiles.*parameter.member = static_cast<int>(node[parameter.name].whole_number(1, kLargestTile));
    const std::string problem = schedule.why_illegal(tiles, lanes);
    if (!problem.empty()) node.fail(problem);
    return tiles;
}

std::string read_id(const JsonNode &node) {
    std::string id = node.text();
    const bool good = !id.empty() && id[0] >= 'a' && id[0] <= 'z' &&
                      id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (!good) node.expect("a lower-case letter, then lower-case letters, digits and _");
    return id;
}

KernelVariant read_variant(const JsonNode &node, const KernelEntry &entry) {
    node.expect_members({"id", "schedule", "tiles"}, {"why"});
    KernelVariant variant = {read_id(node["id"]), nullptr, {}};
    if (entry.find_variant(variant.id) != nullptr) node["id"].expect("each id once");
    const JsonNode schedule = node["schedule"];
    variant.schedule = find_cpu_schedule(entry.op, schedule.text());
    if (variant.schedule == nullptr) schedule.expect("one of " + cpu_schedule_names(entry.op));
    variant.tiles =
        read_tiles(node["tiles"], *variant.schedule, lanes_of(*entry.isa, accumulation_bytes(*entry.dtype)));
    if (node.has("why")) node["why"].text();
    return variant;
}

TunedShape read_row(const JsonNode &node, const KernelEntry &entry) {
    node.expect_members({"shape", "variant", "ratio"}, {"verdict", "best_ratio", "interval", "pairs", "noise_floor"});
    const JsonNode shape = node["shape"];
    shape.expect_members({"seqlen_q", "seqlen_k", "head_dim", "causal"});
    const auto extent = [&](const char *name) { return shape[name].whole_number(1, kLargestExtent); };
    TunedShape row = {extent("seqlen_q"),      extent("seqlen_k"),     extent("head_dim"),
                      shape["causal"].truth(), node["variant"].text(), node["ratio"].positive_number(),
                      node["variant"].place()};
    const bool twice = std::any_of(entry.table.begin(), entry.table.end(), [&](const TunedShape &other) {
        return other.seqlen_q == row.seqlen_q && other.seqlen_k == row.seqlen_k && other.head_dim == row.head_dim &&
               other.causal == row.causal;
    });
    if (twice) shape.expect("each shape once");
    return row;
}

void read_origin(const JsonNode &file, Configuration &configuration) {
    if (file.has("machine")) {
        const JsonNode machine = file["machine"];
        if (machine.has("family")) configuration.machine_family = machine["family"].text();
        if (machine.has("exact")) configuration.exact_machine = machine["exact"].text();
    }
    if (file.has("toolchain")) {
        const JsonNode toolchain = file["toolchain"];
        configuration.generator_hash = toolchain["generator_hash"].text();
        configuration.origin_place = toolchain.place();
        file["machine"]["family"].text();
    }
}

}  // namespace

std::string KernelEntry::name() const {
    const std::string names = terms_text(terms, "_");
    return std::string(op_name(op)) + "_" + names + (names.empty() ? "" : "_") + dtype->name + "_" + isa->name;
}

bool KernelEntry::same_kernels(const KernelEntry &other) const {
    return op == other.op && dtype == other.dtype && isa == other.isa && terms == other.terms;
}

const KernelVariant *KernelEntry::find_variant(const std::string &id) const {
    for (const KernelVariant &variant : variants)
        if (variant.id == id) return &variant;
    return nullptr;
}

KernelEntry read_kernel_entry(const JsonNode &node) {
    node.expect_members({"op", "dtype", "isa", "terms", "variants", "default"}, {"table"});
    KernelEntry entry = {};
    const OpRow *op = named_row(node["op"], kOps, [](const std::string &name) { return find_op(name); });
    entry.op = op->op;
    entry.dtype = read_dtype(node["dtype"]);
    entry.isa = named_row(node["isa"], kIsas, [](const std::string &name) { return find_isa(name); });
    if (node["terms"].json().is_string()) node["terms"].expect("an array of score terms, or \"all\"");
    entry.terms = read_terms(node["terms"]);
    if (entry.terms != 0 && !op->has_terms) node["terms"].expect("no score terms for " + std::string(op->name));
    for (const JsonNode &variant : node["variants"].elements()) entry.variants.push_back(read_variant(variant, entry));
    entry.default_id = node["default"].text();
    entry.default_place = node["default"].place();
    if (!node.has("table")) return entry;
    for (const JsonNode &row : node["table"].elements()) {
        // Such kernels are looked up by shape; for others the fewest terms decide.
        if (entry.terms != 0) row.fail("expected a table only in an entry without terms, got a row");
        entry.table.push_back(read_row(row, entry));
    }
    return entry;
}

JsonNode read_header(JsonText &file) {
    const JsonNode root = file.root();
    root["schema_version"].whole_number(1, kConfigurationVersion);
    upgrade_configuration(file.json());
    root.expect_members({"schema_version", "kernels"}, {"comment", "machine", "toolchain", "evidence"});
    if (root.has("comment")) root["comment"].text();
    for (const char *member : {"machine", "evidence"})
        if (root.has(member) && !root[member].json().is_object()) root[member].expect("an object");
    if (root.has("toolchain")) root["toolchain"].expect_members({"generator_hash"}, {"flashwright", "halide"});
    return root;
}

Configuration parse_configuration(const std::string &name, const std::string &text) {
    JsonText file(name, text);
    const JsonNode root = read_header(file);
    Configuration configuration;
    configuration.file = name;
    read_origin(root, configuration);
    for (const JsonNode &node : root["kernels"].elements()) {
        KernelEntry entry = read_kernel_entry(node);
        for (const KernelEntry &other : configuration.entries)
            if (other.same_kernels(entry)) node.fail("expected one entry of " + entry.name() + ", got a second one");
        configuration.entries.push_back(std::move(entry));
    }
    configuration.json = std::move(file.json());
    return configuration;
}

std::string configuration_text_of(const std::string &file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream || std::filesystem::is_directory(file))
        throw ConfigurationError(file + ": expected a file that can be read, got none");
    return text.str();
}

Configuration read_configuration(const std::string &file) {
    return parse_configuration(file, configuration_text_of(file));
}

std::string terms_text(unsigned terms, const char *separator) {
    std::string text;
    for (const ScoreTermRow &term : kScoreTerms)
        if ((terms & term.bit) != 0) text += (text.empty() ? "" : separator) + std::string(term.name);
    return text;
}

}  // namespace flashwright
