#include "report.h"

#include "kernels/tile_spaces.h"
#include "svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace flashwright {
namespace {

using nlohmann::ordered_json;

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

std::string configuration_text(const std::string &op, const Configuration &configuration) {
    std::string text;
    for (const TileParameter &parameter : tile_space_of(op).parameters) {
        const auto value = configuration.find(parameter.name);
        if (value != configuration.end())
            text += fmt::format("{}{}={}", text.empty() ? "" : " ", parameter.name, value->second);
    }
    return escape_html(text);
}

std::string point_text(const RecordedSpace &space, const RecordedCandidate &candidate) {
    std::string text;
    for (std::size_t p = 0; p < space.parameters.size(); ++p)
        text += fmt::format("{}{}={}", p > 0 ? " " : "", space.parameters[p], candidate.point[p]);
    return text;
}

std::string machine_section(const TuningResults &results) {
    const ordered_json &machine = results.machine, &tools = results.toolchain;
    return fmt::format(
        "<p>{}<br>instruction sets up to {}, cores: {}; flashwright {}, Halide {}, generator "
        "<code>{:.12}</code></p>",
        escape_html(machine.value("exact", "unknown machine")), escape_html(machine.value("isa", "")),
        machine.value("soft", ordered_json::object()).value("cores", 0), escape_html(tools.value("flashwright", "")),
        escape_html(tools.value("halide", "")), escape_html(tools.value("generator_hash", "")));
}

// The winner; for a tie the fastest candidate. Null if there is none.
const ComparedCandidate *shown_candidate(const ComparisonEntry &comparison) {
    const ComparedCandidate *shown = nullptr;
    for (const ComparedCandidate &candidate : comparison.candidates) {
        if (comparison.win ? candidate.configuration == comparison.winner
                           : shown == nullptr || candidate.verdict.ratio < shown->verdict.ratio)
            shown = &candidate;
    }
    return shown;
}

// The last paired comparison of each kernel and shape.
std::string comparison_table(const TuningResults &results) {
    std::map<std::string, const ComparisonEntry *> last;
    for (const ComparisonEntry &comparison : results.comparisons) {
        const KernelId &kernel = comparison.kernel;
        last[fmt::format("{} {} {} {}", kernel.op, kernel.dtype, kernel.isa, comparison.shape)] = &comparison;
    }
    if (last.empty()) return "<p>The run ended before the final selection. No winner was chosen.</p>";
    std::string html =
        "<table><tr><th>kernel</th><th>shape</th><th>verdict</th><th class=\"number\">ratio to the baseline's time</th>"
        "<th>95 % interval</th><th class=\"number\">noise floor</th><th>tiles</th></tr>";
    for (const auto &[key, comparison] : last) {
        const ComparedCandidate *shown = shown_candidate(*comparison);
        if (shown == nullptr) continue;
        const KernelId &kernel = comparison->kernel;
        const char *verdict = comparison->win ? "win" : "tie";
        html += fmt::format(
            "<tr><td>{} {} {}</td><td>{}</td><td class=\"{}\">{}</td><td class=\"number\">{:.3f}</td><td>{:.3f} "
            "to {:.3f}, {} pairs</td><td class=\"number\">{:.1f} %</td><td><code>{}</code></td></tr>",
            escape_html(kernel.op), escape_html(kernel.dtype), escape_html(kernel.isa), escape_html(comparison->shape),
            verdict, verdict, shown->verdict.ratio, shown->verdict.interval.low, shown->verdict.interval.high,
            comparison->pairs, 100 * comparison->noise_floor, configuration_text(kernel.op, comparison->winner));
    }
    return html +
           "</table><p class=\"note\">A variant wins if the upper end of its interval is below 1 by more than 0.5 % "
           "and "
           "by more than the noise floor, which is how much the baseline differs from itself. Otherwise it is a tie: "
           "the baseline stays, and the row shows the fastest candidate.</p>";
}

std::string progress_plot(const RecordedSpace &space) {
    Plot plot;
    plot.x_label = "candidate";
    plot.y_label = "% of the baseline's time";
    plot.width = 1040;
    double best = 0, order = 0;
    for (const RecordedCandidate &candidate : space.candidates) {
        order += 1;
        if (candidate.result.ratio() <= 0) continue;
        plot.dots.push_back({order, 100 * candidate.result.ratio(),
                             fmt::format("{:.1f} %: {}", 100 * candidate.result.ratio(), point_text(space, candidate)),
                             candidate.result.baseline});
        if (best == 0 || candidate.result.ratio() < best) {
            best = candidate.result.ratio();
            plot.steps.emplace_back(order, 100 * best);
        }
    }
    if (best > 0) plot.steps.emplace_back(order, 100 * best);
    return svg_of(plot);
}

std::string parameter_plot(const RecordedSpace &space, std::size_t parameter) {
    std::set<int> values;
    for (const RecordedCandidate &candidate : space.candidates) values.insert(candidate.point[parameter]);
    if (values.size() < 2) return "";
    Plot plot;
    plot.x_label = space.parameters[parameter];
    plot.y_label = "% of the baseline's time";
    plot.width = 340;
    plot.height = 240;
    std::map<int, double> place;
    for (const int value : values) {
        const double at = static_cast<double>(place.size());
        place[value] = at;
        plot.ticks.emplace_back(at, fmt::format("{}", value));
    }
    // Dots of one value are spread sideways.
    std::size_t order = 0;
    for (const RecordedCandidate &candidate : space.candidates) {
        const double aside = 0.5 * (static_cast<double>(order++ * 7 % 11) / 10 - 0.5);
        if (candidate.result.ratio() > 0)
            plot.dots.push_back(
                {place[candidate.point[parameter]] + aside, 100 * candidate.result.ratio(),
                 fmt::format("{:.1f} %: {}", 100 * candidate.result.ratio(), point_text(space, candidate)),
                 candidate.result.baseline});
    }
    return svg_of(plot);
}

std::string failures(const RecordedSpace &space) {
    std::string rows;
    for (const RecordedCandidate &candidate : space.candidates) {
        if (candidate.result.ratio() > 0 || candidate.result.verdict == "ok") continue;
        rows += fmt::format("<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>",
                            escape_html(candidate.result.verdict), escape_html(point_text(space, candidate)),
                            escape_html(candidate.result.detail));
    }
    if (rows.empty()) return "<p>No candidate failed.</p>";
    return "<table><tr><th>failure</th><th>tiles</th><th>what happened</th></tr>" + rows + "</table>";
}

std::string space_section(const RecordedSpace &space) {
    std::string html = fmt::format(
        "<h2>{} {} {}, shape {}</h2><p>{} candidates. <span class=\"note\">Orange: the baseline. Grey: "
        "above the range of the plot. Green: the best so far.</span></p>",
        escape_html(space.kernel.op), escape_html(space.kernel.dtype), escape_html(space.kernel.isa),
        escape_html(space.shape), space.candidates.size());
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
    html += machine_section(run.results) + "<h2>Winners</h2>" + comparison_table(run.results);
    for (const RecordedSpace &space : run.spaces) html += space_section(space);
    return html + "</body></html>\n";
}

}  // namespace flashwright
