#include "gpu_configuration.h"

#include "configuration.h"
#include "configuration_values.h"
#include "gpu_tile_spaces.h"

#include <algorithm>
#include <set>

namespace flashwright {
namespace {

constexpr int kLargestTile = 1 << 16;

using Backends = std::vector<const GpuBackend *>;

Backends backends_of_same_file(const GpuBackend &backend) {
    Backends backends;
    for (const GpuBackend &row : kGpuBackends)
        if (std::string(row.configuration) == backend.configuration) backends.push_back(&row);
    return backends;
}

const Dtype *read_gpu_dtype(const JsonNode &node) {
    const Dtype *dtype = named_row(node, kDtypes, find_dtype);
    if (!dtype->on_gpu) node.expect("an element type that has GPU kernels");
    return dtype;
}

const GpuBackend *read_backend(const JsonNode &node, const Backends &all) {
    std::string names;
    for (const GpuBackend *backend : all) {
        if (node.json() == backend->name) return backend;
        names += (names.empty() ? "one of " : ", ") + std::string(backend->name);
    }
    node.expect(names);
}

Backends backends_of(const GpuKernelEntry &entry, const Backends &all) {
    return entry.backend != nullptr ? Backends{entry.backend} : all;
}

GpuTiles read_gpu_tiles(const JsonNode &node, const GpuKernelEntry &entry, GpuPass pass, const Backends &backends) {
    const GpuTileSpace &space = gpu_tile_space(pass);
    std::vector<std::string> names;
    for (const GpuTileSpace::Parameter &parameter : space.parameters) names.emplace_back(parameter.name);
    node.expect_members(names);
    GpuTiles tiles = {};
    tiles.head_dim = entry.head_dim;
    for (const GpuTileSpace::Parameter &parameter : space.parameters)
        tiles.*parameter.member = static_cast<int>(node[parameter.name].whole_number(1, kLargestTile));
    for (const GpuBackend *backend : backends) {
        const GpuTileContext context = {pass, entry.head_dim, entry.dtype->bytes, *find_gpu_api(backend->name)};
        const std::string problem = space.why_illegal(tiles, context);
        if (!problem.empty()) node.fail(problem);
    }
    return tiles;
}

// Each of dQ, dK and dV is computed once, and the gradient of a bias if there is one.
void check_gradients(const JsonNode &node, const GpuKernelEntry &entry) {
    int dq = 0, dk = 0, dv = 0, dbias = 0;
    for (const GpuPassTiles &pass : entry.passes) {
        dq += pass.row->dq ? 1 : 0;
        dk += pass.row->dk ? 1 : 0;
        dv += pass.row->dv ? 1 : 0;
        dbias += pass.row->dbias ? 1 : 0;
    }
    const bool has_bias = (entry.terms & kBias) != 0;
    if (dq == 1 && dk == 1 && dv == 1 && dbias == (has_bias ? 1 : 0)) return;
    std::string names;
    for (const auto &[name, tiles] : node.json().items()) names += (names.empty() ? "" : ", ") + name;
    node.fail(std::string("passes: expected dq, either dk+dv or both dk and dv, and ") + (has_bias ? "" : "no ") +
              "dbias, got " + (names.empty() ? "none" : names));
}

std::vector<GpuPassTiles> read_passes(const JsonNode &node, const GpuKernelEntry &entry, const Backends &backends) {
    std::vector<std::string> names;
    for (const GpuPassRow &row : kBackwardPasses) names.emplace_back(row.name);
    node.expect_members({}, names);
    std::vector<GpuPassTiles> passes;
    for (const GpuPassRow &row : kBackwardPasses)
        if (node.has(row.name)) passes.push_back({&row, read_gpu_tiles(node[row.name], entry, row.pass, backends)});
    return passes;
}

Op read_gpu_op(const JsonNode &node) {
    const OpRow *op = node.json().is_string() ? find_op(node.text()) : nullptr;
    if (op == nullptr || (op->op != Op::forward && op->op != Op::backward)) node.expect("one of forward, backward");
    return op->op;
}

GpuKernelEntry read_gpu_entry(const JsonNode &node, const Backends &all) {
    GpuKernelEntry entry;
    entry.op = read_gpu_op(node["op"]);
    const char *tiles = entry.op == Op::forward ? "tiles" : "passes";
    node.expect_members({"op", "terms", "assume_finite", "head_dim", tiles}, {"backend", "dtype"});
    if (node.has("backend")) entry.backend = read_backend(node["backend"], all);
    entry.dtype = node.has("dtype") ? read_gpu_dtype(node["dtype"]) : find_dtype("f32");
    entry.terms = read_terms(node["terms"]);
    entry.assume_finite = node["assume_finite"].truth();
    entry.head_dim = static_cast<int>(node["head_dim"].whole_number(1, kLargestTile));
    const Backends backends = backends_of(entry, all);
    if (entry.op == Op::forward) {
        entry.tiles = read_gpu_tiles(node[tiles], entry, GpuPass::forward, backends);
        return entry;
    }
    entry.passes = read_passes(node[tiles], entry, backends);
    check_gradients(node[tiles], entry);
    return entry;
}

// Evidence is by the name of a kernel; the tuner says what is in it.
void check_evidence(const JsonNode &root) {
    if (!root.has("evidence")) return;
    for (const auto &[name, value] : root["evidence"].json().items()) {
        const JsonNode evidence = root["evidence"][name];
        if (!value.is_object()) evidence.expect("an object");
        const std::string basis = evidence["basis"].text();
        if (basis != "measured" && basis != "predicted") evidence["basis"].expect("one of measured, predicted");
    }
}

}  // namespace

std::string GpuKernelEntry::name_on(const GpuBackend &of) const {
    const std::string names = terms_text(terms, "_");
    return std::string(op_name(op)) + "_" + names + (names.empty() ? "" : "_") + dtype->name + "_" + of.name + "_d" +
           std::to_string(head_dim) + (assume_finite ? "" : "_nansafe");
}

GpuConfiguration parse_gpu_configuration(const std::string &name, const std::string &text, const GpuBackend &backend) {
    JsonText file(name, text);
    if (file.root().has("version") && !file.root().has("schema_version")) {
        file.root()["version"].whole_number(1, 1);
        upgrade_gpu_configuration(file.json());
    }
    const JsonNode root = read_header(file);
    check_evidence(root);
    const Backends backends = backends_of_same_file(backend);
    GpuConfiguration configuration;
    configuration.file = name;
    std::set<std::string> names;
    for (const JsonNode &node : root["kernels"].elements()) {
        configuration.entries.push_back(read_gpu_entry(node, backends));
        const GpuKernelEntry &entry = configuration.entries.back();
        for (const GpuBackend *of : backends_of(entry, backends)) {
            if (!names.insert(entry.name_on(*of)).second)
                node.fail("expected one entry of " + entry.name_on(*of) + ", got a second one");
        }
    }
    configuration.json = std::move(file.json());
    return configuration;
}

GpuConfiguration read_gpu_configuration(const std::string &file, const GpuBackend &backend) {
    return parse_gpu_configuration(file, configuration_text_of(file), backend);
}

std::string pass_label(const GpuPassRow &pass) {
    std::string label = pass.name;
    std::replace(label.begin(), label.end(), '+', '_');
    return label;
}

}  // namespace flashwright
