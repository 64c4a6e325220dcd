#include "resume.h"

#include <filesystem>

namespace flashwright {
namespace {

using nlohmann::json;

bool is_trial_of(const json &entry, const KernelFamily &family) {
    return entry.contains("trial") && entry.value("op", "") == family.op && entry.value("dtype", "") == family.dtype &&
           entry.value("isa", "") == family.isa;
}

// size() if it is no point of this space.
std::size_t point_in(const json &trial, const SearchSpace &space) {
    std::vector<int> values;
    for (const std::string &name : space.names()) values.push_back(trial.value(name, 0));
    return space.find(values);
}

// By shape; empty unless all of the session's were timed.
std::vector<double> ratios_in(const json &entry, const TuningSession &session) {
    std::vector<double> ratios;
    const json timed = entry.value("shapes", json::object());
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        const auto timing = timed.find(session.shape_name(s));
        if (timing == timed.end()) return {};
        ratios.push_back(timing->value("ratio", 1.0));
    }
    return ratios;
}

// What failed on a shape may do on others.
bool concerns(const json &failure, const TuningSession &session) {
    const std::string shape = failure.value("failed_on", "");
    for (std::size_t s = 0; s < session.shapes(); ++s) {
        if (shape.empty() || shape == session.shape_name(s)) return true;
    }
    return false;
}

}  // namespace

std::size_t recall(TuningSession &session) {
    std::size_t known = 0;
    const std::vector<json> &entries = session.journal.entries();
    // The last word on a point counts.
    for (auto place = entries.rbegin(); place != entries.rend(); ++place) {
        const json &entry = *place;
        if (!is_trial_of(entry, session.family)) continue;
        const std::size_t point = point_in(entry["trial"], session.space);
        if (point == session.space.size() || session.history.tried(point)) continue;
        const Verdict verdict = verdict_named(entry.value("verdict", ""));
        if (verdict != Verdict::ok && !concerns(entry, session)) continue;
        if (verdict != Verdict::ok) {
            ++session.failures[verdict_name(verdict)];
            session.history.add(point, {});
            ++known;
            continue;
        }
        const std::vector<double> ratios = ratios_in(entry, session);
        const Contestant contestant = {entry.value("shared_object", ""), session.tiles(point)};
        if (ratios.empty() || !std::filesystem::exists(contestant.shared_object)) continue;
        session.contestants[point] = contestant;
        session.history.add(point, ratios);
        ++known;
    }
    return known;
}

}  // namespace flashwright
