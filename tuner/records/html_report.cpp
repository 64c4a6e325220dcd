#include "html_report.h"

#include "kernels/tile_spaces.h"
#include "svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace flashwright {
namespace {

using nlohmann::json;

constexpr const char *kStyle = R"(
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1b1f24;background:#fff}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2.2em;border-bottom:1px solid #d8dde3;padding-bottom:.2em}
h3{font-size:1em;margin:1.4em 0 .3em}
table{border-collapse:collapse;margin:.6em 0}th,td{padding:.25em .8em .25em 0;text-align:left;vertical-align:top}
th{font-weight:600;border-bottom:1px solid #d8dde3}td.number,th.number{text-align:right}
.win{color:#0a7a3c;font-weight:600}.tie{color:#68727d}code{font-size:.9em}
.plots{display:flex;flex-wrap:wrap;gap:10px}.note{color:#68727d}
svg{max-width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#57606a}svg .label{fill:#1b1f24}
.grid{stroke:#e7ebef}.axis{stroke:#8b949e}.dot{fill:#3b7dd8;fill-opacity:.55}.beyond{fill:#b8c0c8;fill-opacity:.7}
.marked{fill:#d9480f}.best{fill:none;stroke:#0a7a3c;stroke-width:2}
)";

std::string configuration_text(const std::string &op, const json &configuration) {
    std::string text;
    for (const TileParameter &parameter : tile_space_of(op).parameters) {
        if (configuration.contains(parameter.name))
            text +=
                fmt::format("{}{}={}", text.empty() ? "" : " ", parameter.name, configuration[parameter.name].dump());
    }
    return escape_html(text);
}

std::string point_text(const RecordedSpace &space, const RecordedTrial &trial) {
    std::string text;
    for (std::size_t p = 0; p < space.parameters.size(); ++p)
        text += fmt::format("{}{}={}", p > 0 ? " " : "", space.parameters[p], trial.point[p]);
    return text;
}

std::string machine_section(const json &metadata) {
    const json machine = metadata.value("x_machine", json::object()),
               tools = metadata.value("x_toolchain", json::object());
    return fmt::format(
        "<p>{}<br>instruction sets up to {}, cores: {}; flashwright {}, Halide {}, generator "
        "<code>{:.12}</code></p>",
        escape_html(machine.value("exact", "unknown machine")), escape_html(machine.value("isa", "")),
        machine.value("soft", json::object()).value("cores", 0), escape_html(tools.value("flashwright", "")),
        escape_html(tools.value("halide", "")), escape_html(tools.value("generator_hash", "")));
}

// The last duel of each kernel and shape.
std::string decision_table(const json &metadata) {
    std::map<std::string, json> last;
    for (const json &duel : metadata.value("x_duels", json::array()))
        last[fmt::format("{} {} {} {}", duel.value("op", ""), duel.value("dtype", ""), duel.value("isa", ""),
                         duel.value("duel", ""))] = duel;
    if (last.empty()) return "<p>The run ended before the finals: nothing was decided.</p>";
    std::string html =
        "<table><tr><th>kernel</th><th>shape</th><th>verdict</th><th class=\"number\">time over the default's</th>"
        "<th>95 % interval</th><th class=\"number\">noise</th><th>tiles</th></tr>";
    for (const auto &[key, duel] : last) {
        const bool win = duel.value("verdict", "") == "win";
        const json *shown = nullptr;
        for (const json &contestant : duel.at("contestants")) {
            if (win ? contestant.at("configuration") == duel.at("winner")
                    : shown == nullptr || contestant.at("ratio") < shown->at("ratio"))
                shown = &contestant;
        }
        if (shown == nullptr) continue;
        html += fmt::format(
            "<tr><td>{} {} {}</td><td>{}</td><td class=\"{}\">{}</td><td class=\"number\">{:.3f}</td><td>{:.3f} "
            "to {:.3f}, {} pairs</td><td class=\"number\">{:.1f} %</td><td><code>{}</code></td></tr>",
            escape_html(duel.value("op", "")), escape_html(duel.value("dtype", "")), escape_html(duel.value("isa", "")),
            escape_html(duel.value("duel", "")), win ? "win" : "tie", win ? "win" : "tie",
            shown->at("ratio").get<double>(), shown->at("interval").at(0).get<double>(),
            shown->at("interval").at(1).get<double>(), duel.value("pairs", 0), 100 * duel.value("noise_floor", 0.0),
            configuration_text(duel.at("op"), duel.at("winner")));
    }
    return html +
           "</table><p class=\"note\">A variant wins only if the upper end of its interval is below 1 by more than "
           "half a "
           "percent and more than the noise of the machine; else the default stays (tie; the figures are of the best "
           "contestant).</p>";
}

std::string progress_plot(const RecordedSpace &space) {
    Plot plot;
    plot.x_label = "candidate";
    plot.y_label = "% of the default's time";
    plot.width = 1040;
    double best = 0, order = 0;
    for (const RecordedTrial &trial : space.trials) {
        order += 1;
        if (trial.ratio <= 0) continue;
        plot.dots.push_back({order, 100 * trial.ratio,
                             fmt::format("{:.1f} %: {}", 100 * trial.ratio, point_text(space, trial)),
                             trial.is_default});
        if (best == 0 || trial.ratio < best) {
            best = trial.ratio;
            plot.steps.emplace_back(order, 100 * best);
        }
    }
    if (best > 0) plot.steps.emplace_back(order, 100 * best);
    return svg_of(plot);
}

std::string parameter_plot(const RecordedSpace &space, std::size_t parameter) {
    std::set<int> values;
    for (const RecordedTrial &trial : space.trials) values.insert(trial.point[parameter]);
    if (values.size() < 2) return "";
    Plot plot;
    plot.x_label = space.parameters[parameter];
    plot.y_label = "% of the default's time";
    plot.width = 340;
    plot.height = 240;
    std::map<int, double> place;
    for (const int value : values) {
        const double at = static_cast<double>(place.size());
        place[value] = at;
        plot.ticks.emplace_back(at, fmt::format("{}", value));
    }
    // Side by side rather than on top of each other.
    std::size_t order = 0;
    for (const RecordedTrial &trial : space.trials) {
        const double aside = 0.5 * (static_cast<double>(order++ * 7 % 11) / 10 - 0.5);
        if (trial.ratio > 0)
            plot.dots.push_back({place[trial.point[parameter]] + aside, 100 * trial.ratio,
                                 fmt::format("{:.1f} %: {}", 100 * trial.ratio, point_text(space, trial)),
                                 trial.is_default});
    }
    return svg_of(plot);
}

std::string failures(const RecordedSpace &space) {
    std::string rows;
    for (const RecordedTrial &trial : space.trials) {
        if (trial.ratio > 0 || trial.verdict == "ok") continue;
        rows += fmt::format("<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>", escape_html(trial.verdict),
                            escape_html(point_text(space, trial)), escape_html(trial.detail));
    }
    if (rows.empty()) return "<p>No candidate failed.</p>";
    return "<table><tr><th>failure</th><th>tiles</th><th>what happened</th></tr>" + rows + "</table>";
}

std::string space_section(const RecordedSpace &space) {
    std::string html = fmt::format(
        "<h2>{} {} {}, shape {}</h2><p>{} candidates. <span class=\"note\">Orange: the default; grey: "
        "slower than the plot is high; green: the best so far.</span></p>",
        escape_html(space.op), escape_html(space.dtype), escape_html(space.isa), escape_html(space.shape),
        space.trials.size());
    html +=
        "<h3>The search</h3>" + progress_plot(space) + "<h3>Time over each tile parameter</h3><div class=\"plots\">";
    for (std::size_t p = 0; p < space.parameters.size(); ++p) html += parameter_plot(space, p);
    return html + "</div><h3>Failures</h3>" + failures(space);
}

}  // namespace

std::string html_report(const RecordedRun &run) {
    std::string html = fmt::format(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>flashwright "
        "tune</title><style>{}</style></head><body><h1>Tuning results</h1>",
        kStyle);
    html += machine_section(run.metadata) + "<h2>What was decided</h2>" + decision_table(run.metadata);
    for (const RecordedSpace &space : run.spaces) html += space_section(space);
    return html + "</body></html>\n";
}

}  // namespace flashwright
