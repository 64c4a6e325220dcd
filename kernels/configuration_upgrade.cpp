// Version 1 had no schedules: they followed from `generic` (before, `portable`) and from block_q. It had other ids for
// the variants that ship.
#include "configuration.h"

#include <map>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json &object, const char *member) {
    const auto found = object.is_object() ? object.find(member) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool takes_any_shape(ordered_json &variant) {
    bool any_shape = false;
    for (const char *member : {"generic", "portable"}) {
        const auto found = variant.find(member);
        if (found == variant.end() || !found->is_boolean()) continue;
        any_shape = any_shape || found->get<bool>();
        variant.erase(member);
    }
    return any_shape;
}

bool fewer_rows_than_lanes(const ordered_json &variant, int lanes) {
    const auto tiles = variant.find("tiles");
    if (tiles == variant.end() || !tiles->is_object()) return false;
    const auto block_q = tiles->find("block_q");
    return block_q != tiles->end() && block_q->is_number_integer() && *block_q < lanes;
}

std::string schedule_of(ordered_json &variant, Op op, int lanes) {
    const bool any_shape = takes_any_shape(variant);
    if (op == Op::backward) return "blocks";
    if (op != Op::forward) return "rows";
    if (any_shape) return "generic";
    return fewer_rows_than_lanes(variant, lanes) ? "decode" : "rows";
}

// The id of a variant that ships, by its schedule.
std::string new_id(const std::string &id, const std::string &schedule) {
    static const std::map<std::pair<std::string, std::string>, std::string> ids = {
        {{"portable", "generic"}, "generic"}, {{"one", "decode"}, "decode_q1"}, {{"four", "decode"}, "decode_q4"}};
    const auto found = ids.find({id, schedule});
    return found == ids.end() ? id : found->second;
}

void upgrade_entry(ordered_json &entry) {
    const OpRow *op = find_op(text_of(entry, "op"));
    const Dtype *dtype = find_dtype(text_of(entry, "dtype"));
    const Isa *isa = find_isa(text_of(entry, "isa"));
    if (op == nullptr || dtype == nullptr || isa == nullptr) return;
    // A row may name a variant of an earlier file, so the ids that ship are known without one here.
    std::map<std::string, std::string> renamed;
    if (op->op == Op::forward) renamed = {{"portable", "generic"}, {"one", "decode_q1"}, {"four", "decode_q4"}};
    const auto variants = entry.find("variants");
    if (variants != entry.end() && variants->is_array()) {
        for (ordered_json &variant : *variants) {
            if (!variant.is_object() || variant.contains("schedule")) continue;
            const std::string id = text_of(variant, "id");
            const std::string schedule = schedule_of(variant, op->op, lanes_of(*isa, accumulation_bytes(*dtype)));
            variant["schedule"] = schedule;
            renamed[id] = new_id(id, schedule);
            if (renamed[id] != id) variant["id"] = renamed[id];
        }
    }
    const auto rename = [&](ordered_json &object, const char *member) {
        const auto found = renamed.find(text_of(object, member));
        if (found != renamed.end() && !found->first.empty()) object[member] = found->second;
    };
    rename(entry, "default");
    const auto table = entry.find("table");
    if (table == entry.end() || !table->is_array()) return;
    for (ordered_json &row : *table) rename(row, "variant");
}

// "all" stands for every score term.
void spell_out_terms(ordered_json &entry) {
    if (text_of(entry, "terms") != "all") return;
    entry["terms"] = ordered_json::array();
    for (const ScoreTermRow &row : kScoreTerms) entry["terms"].push_back(row.name);
}

}  // namespace

void upgrade_configuration(ordered_json &file) {
    if (!file.is_object()) return;
    const bool older = file.value("schema_version", 0) < kConfigurationVersion;
    const auto kernels = file.find("kernels");
    if (kernels != file.end() && kernels->is_array()) {
        for (ordered_json &entry : *kernels) {
            if (entry.is_object() && entry.contains("isa")) spell_out_terms(entry);
            if (older) upgrade_entry(entry);
        }
    }
    if (older) file["schema_version"] = kConfigurationVersion;
}

}  // namespace flashwright
