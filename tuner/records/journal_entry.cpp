#include "journal_entry.h"

#include <algorithm>

namespace flashwright {
namespace {

using nlohmann::json;

bool is_text(const json &value) { return value.is_string(); }
bool is_number(const json &value) { return value.is_number(); }
bool is_truth(const json &value) { return value.is_boolean(); }

template <typename Test>
bool all(const json &values, Test test) {
    return std::all_of(values.begin(), values.end(), test);
}

bool is_configuration(const json &value) {
    return value.is_object() && all(value, [](const json &v) { return v.is_number_integer(); });
}

// Absent, or as the test wants it.
template <typename Test>
bool fits(const json &entry, const char *member, Test test) {
    const auto place = entry.find(member);
    return place == entry.end() || test(*place);
}

bool is_timing(const json &value) {
    return value.is_object() && fits(value, "ratio", is_number) &&
           fits(value, "seconds", [](const json &v) { return v.is_array() && all(v, is_number); });
}

bool is_contestant(const json &value) {
    return value.is_object() && value.contains("ratio") && is_number(value["ratio"]) &&
           value.contains("configuration") && is_configuration(value["configuration"]) && value.contains("interval") &&
           value["interval"].is_array() && value["interval"].size() == 2 && all(value["interval"], is_number);
}

bool is_trial(const json &entry) {
    const auto fits_all = [&](std::initializer_list<const char *> members, auto test) {
        return std::all_of(members.begin(), members.end(), [&](const char *m) { return fits(entry, m, test); });
    };
    return is_configuration(entry["trial"]) && entry.contains("verdict") &&
           fits_all({"verdict", "detail", "shared_object", "failed_on"}, is_text) &&
           fits_all({"compile_seconds", "check_seconds"}, is_number) && fits_all({"compiling", "default"}, is_truth) &&
           fits(entry, "shapes", [](const json &v) { return v.is_object() && all(v, is_timing); });
}

bool is_duel(const json &entry) {
    return is_text(entry["duel"]) && fits(entry, "pairs", is_number) && fits(entry, "noise_floor", is_number) &&
           fits(entry, "verdict", is_text) && entry.contains("winner") && is_configuration(entry["winner"]) &&
           entry.contains("contestants") && entry["contestants"].is_array() && all(entry["contestants"], is_contestant);
}

}  // namespace

bool is_journal_entry(const nlohmann::json &entry) {
    if (!entry.is_object()) return false;
    for (const char *member : {"op", "dtype", "isa"})
        if (!entry.contains(member) || !is_text(entry[member])) return false;
    if (entry.contains("trial")) return is_trial(entry);
    if (entry.contains("duel")) return is_duel(entry);
    return fits(entry, "noise_floor", [](const json &v) { return v.is_object() && all(v, is_number); });
}

}  // namespace flashwright
