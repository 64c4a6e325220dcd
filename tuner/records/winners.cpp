#include "winners.h"

#include "kernels/kernel_catalogue.h"
#include "measure/hardware.h"
#include "support/file.h"
#include "support/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace flashwright {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char *kProtocol = "paired-1";

ordered_json tiles_json(const TileSpace &space, const CpuTiles &tiles) {
    ordered_json result;
    for (const TileParameter &parameter : space.parameters) result[parameter.name] = tiles.*parameter.member;
    return result;
}

CpuTiles tiles_from(const TileSpace &space, const ordered_json &variant) {
    CpuTiles tiles = {};
    for (const TileParameter &parameter : space.parameters)
        tiles.*parameter.member = variant.at("tiles").at(parameter.name).get<int>();
    return tiles;
}

ordered_json shape_json(const ShapeSpec &shape) {
    return {{"seqlen_q", shape.seqlen_q},
            {"seqlen_k", shape.seqlen_k},
            {"head_dim", shape.head_dim},
            {"causal", shape.causal}};
}

ordered_json row_json(const TunedRow &row, const std::string &variant) {
    return {{"shape", shape_json(row.shape)},
            {"variant", variant},
            {"verdict", row.win ? "win" : "tie"},
            {"ratio", shortened(row.win ? row.ratio : 1.0)},
            {"best_ratio", shortened(row.ratio)},
            {"interval", {shortened(row.interval.low), shortened(row.interval.high)}},
            {"pairs", row.pairs},
            {"noise_floor", shortened(row.noise_floor)}};
}

ordered_json kernel_json(const TunedKernel &kernel) {
    const KernelFamily &family = kernel.family;
    const TileSpace &space = family.space();
    ordered_json variants = ordered_json::array(), table = ordered_json::array();
    const auto variant_json = [&](const std::string &id, const CpuTiles &tiles, const char *why) -> ordered_json {
        return {{"id", id}, {"schedule", space.schedule->name()}, {"tiles", tiles_json(space, tiles)}, {"why", why}};
    };
    variants.push_back(variant_json(family.baseline_id, family.baseline_tiles, "the baseline"));
    for (std::size_t i = 0; i < kernel.rows.size(); ++i) {
        const CpuTiles &tiles = kernel.tiles[i];
        const std::string id = kernel.rows[i].win ? variant_id(space, tiles) : family.baseline_id;
        const bool known = std::any_of(variants.begin(), variants.end(), [&](const auto &v) { return v["id"] == id; });
        if (!known) variants.push_back(variant_json(id, tiles, "measured"));
        table.push_back(row_json(kernel.rows[i], id));
    }
    return {{"op", family.op},      {"dtype", family.dtype},         {"isa", family.isa}, {"terms", json::array()},
            {"variants", variants}, {"default", family.baseline_id}, {"table", table}};
}

bool same_shape(const ordered_json &a, const ordered_json &b) {
    for (const char *member : {"seqlen_q", "seqlen_k", "head_dim", "causal"})
        if (a["shape"][member] != b["shape"][member]) return false;
    return true;
}

bool same_kernel(const ordered_json &a, const ordered_json &b) {
    const auto terms = [](const ordered_json &kernel) { return kernel["terms"].get<std::set<std::string>>(); };
    return a["op"] == b["op"] && a["dtype"] == b["dtype"] && a["isa"] == b["isa"] && terms(a) == terms(b);
}

// As in the build, a baseline or a row may name a variant that another file has: one that this library was built of.
void check_references(const Configuration &winners) {
    KernelCatalogue catalogue({find_isa(flashwright_kernel(0).isa)->processor, {}, {}, {}});
    const ordered_json built_in = ordered_json::parse(flashwright_config_json());
    for (const ordered_json &file : built_in["configurations"])
        catalogue.add(parse_configuration("the configuration of this build", file.dump()));
    catalogue.add(winners);
}

// Held as long as this lives. The folder is locked, not the file, which is replaced.
class FolderLock {
 public:
    explicit FolderLock(const std::string &path) {
        const auto folder = std::filesystem::absolute(path).parent_path();
        descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor_ < 0 || flock(descriptor_, LOCK_EX) != 0)
            throw std::runtime_error(fmt::format("{}: {}", folder.string(), std::strerror(errno)));
    }
    ~FolderLock() { close(descriptor_); }
    FolderLock(const FolderLock &) = delete;
    FolderLock &operator=(const FolderLock &) = delete;

 private:
    int descriptor_;
};

// Empty if it is of this machine and generator. What is written by hand need not say.
std::string foreign_origin(const Configuration &winners, const GeneratorProgram &generator) {
    const bool tuned = !winners.generator_hash.empty();
    const bool elsewhere = !winners.exact_machine.empty() ? winners.exact_machine != hardware().exact
                                                          : tuned && winners.machine_family != hardware().family;
    if (elsewhere) return winners.file + ": it is from another machine";
    if (tuned && winners.generator_hash != generator.hash) return winners.file + ": it is from another generator";
    return {};
}

Configuration read_checked(const std::string &path) {
    Configuration winners = read_configuration(path);
    check_references(winners);
    for (ordered_json &kernel : winners.json["kernels"]) {
        if (!kernel.contains("table")) kernel["table"] = ordered_json::array();
    }
    return winners;
}

}  // namespace

std::string variant_id(const TileSpace &space, const CpuTiles &tiles) {
    std::string id;
    for (const TileParameter &parameter : space.parameters)
        id += fmt::format("{}{}", parameter.initial, tiles.*parameter.member);
    return id;
}

nlohmann::json machine_json() {
    const Hardware &machine = hardware();
    std::string isa;
    for (std::int32_t i = 0; i < flashwright_isa_count(); ++i) {
        if (flashwright_isa(i).usable != 0) isa = flashwright_isa(i).name;
    }
    return {{"exact", machine.exact},
            {"family", machine.family},
            {"isa", isa},
            {"hard", {{"isa", isa}}},
            {"soft", {{"l1_kib", machine.l1 >> 10}, {"l2_kib", machine.l2 >> 10}, {"cores", machine.cores}}}};
}

nlohmann::json toolchain_json(const GeneratorProgram &generator) {
    return {{"flashwright", flashwright_version()},
            {"halide", generator.halide_version},
            {"generator_hash", generator.hash}};
}

nlohmann::ordered_json winners_json(const std::vector<TunedKernel> &kernels, const GeneratorProgram &generator,
                                    const std::string &results_name) {
    double noise = 0;
    ordered_json list = ordered_json::array();
    for (const TunedKernel &kernel : kernels) {
        list.push_back(kernel_json(kernel));
        for (const TunedRow &row : kernel.rows) noise = std::max(noise, row.noise_floor);
    }
    return {{"schema_version", kConfigurationVersion},
            {"machine", machine_json()},
            {"toolchain", toolchain_json(generator)},
            {"kernels", list},
            {"evidence", {{"noise_floor", shortened(noise)}, {"protocol", kProtocol}, {"results", results_name}}}};
}

nlohmann::ordered_json merge_winners(const nlohmann::ordered_json &old, const nlohmann::ordered_json &news) {
    ordered_json merged = news;
    for (const auto &old_kernel : old["kernels"]) {
        const auto kernel = std::find_if(merged["kernels"].begin(), merged["kernels"].end(),
                                         [&](const auto &k) { return same_kernel(k, old_kernel); });
        if (kernel == merged["kernels"].end()) {
            merged["kernels"].push_back(old_kernel);
            continue;
        }
        for (const auto &row : old_kernel["table"]) {
            const bool replaced = std::any_of((*kernel)["table"].begin(), (*kernel)["table"].end(),
                                              [&](const auto &r) { return same_shape(r, row); });
            if (replaced) continue;
            (*kernel)["table"].push_back(row);
            for (const auto &variant : old_kernel["variants"]) {
                const bool known = std::any_of((*kernel)["variants"].begin(), (*kernel)["variants"].end(),
                                               [&](const auto &v) { return v["id"] == variant["id"]; });
                if (variant["id"] == row["variant"] && !known) (*kernel)["variants"].push_back(variant);
            }
        }
    }
    return merged;
}

nlohmann::ordered_json read_winners(const std::string &path, const GeneratorProgram &generator, std::string *foreign) {
    Configuration winners = read_checked(path);
    *foreign = foreign_origin(winners, generator);
    return foreign->empty() ? std::move(winners.json) : ordered_json(nullptr);
}

nlohmann::ordered_json read_winners_of_any_machine(const std::string &path) {
    return std::move(read_checked(path).json);
}

std::vector<CpuTiles> tiles_in(const nlohmann::ordered_json &winners, const KernelFamily &family) {
    std::vector<CpuTiles> found;
    for (const auto &kernel : winners["kernels"]) {
        if (kernel["op"] != family.op || kernel["dtype"] != family.dtype || kernel["isa"] != family.isa) continue;
        if (!kernel["terms"].empty()) continue;
        for (const auto &variant : kernel["variants"]) {
            if (variant["schedule"] == family.space().schedule->name())
                found.push_back(tiles_from(family.space(), variant));
        }
    }
    return found;
}

void write_winners(const std::string &path, const nlohmann::ordered_json &news, const GeneratorProgram &generator,
                   std::string *warning) {
    const FolderLock lock(path);
    ordered_json merged = news;
    if (std::filesystem::exists(path)) {
        const ordered_json old = read_winners(path, generator, warning);
        if (!old.is_null()) merged = merge_winners(old, news);
        if (old.is_null()) *warning += "; its content is replaced";
    }
    const std::string text = dumped(merged, 2) + "\n";
    write_files({{path, text, {nullptr, 0}}});
}

}  // namespace flashwright
