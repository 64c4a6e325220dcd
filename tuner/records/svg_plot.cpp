#include "svg_plot.h"

#include "measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashwright {
namespace {

constexpr double kLeft = 52, kRight = 12, kTop = 10, kBottom = 42;

// A round number near a fifth of the range.
double tick_step(double range) {
    const double raw = range / 5, power = std::pow(10, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (raw <= factor * power) return factor * power;
    }
    return 10 * power;
}

struct Axis {
    double low, high, begin, end;
    double at(double value) const {
        return begin + (std::clamp(value, low, high) - low) / (high - low) * (end - begin);
    }
};

Axis y_axis(const Plot &plot) {
    std::vector<double> values;
    for (const PlotDot &dot : plot.dots) values.push_back(dot.y);
    const double low = quantile(values, 0), middle = median(values);
    const double high = std::max(std::min(quantile(values, 1), middle + 2 * (middle - low)), low * 1.02);
    const double margin = 0.06 * (high - low);
    return {low - margin, high + margin, plot.height - kBottom, kTop};
}

Axis x_axis(const Plot &plot) {
    double low = plot.dots[0].x, high = low;
    for (const PlotDot &dot : plot.dots) low = std::min(low, dot.x), high = std::max(high, dot.x);
    const double margin = std::max(0.03 * (high - low), 0.5);
    return {low - margin, high + margin, kLeft, plot.width - kRight};
}

std::string axes(const Plot &plot, const Axis &x, const Axis &y) {
    std::string svg;
    const double y_step = tick_step(y.high - y.low);
    for (double value = std::ceil(y.low / y_step) * y_step; value <= y.high; value += y_step) {
        svg += fmt::format(
            "<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-baseline=\"end\">{:g}</text>",
            x.begin, x.end, y.at(value), y.at(value), x.begin - 6, y.at(value) + 4, value);
    }
    std::vector<std::pair<double, std::string>> ticks = plot.ticks;
    if (ticks.empty()) {
        const double step = std::max(1.0, tick_step(x.high - x.low));
        for (double value = std::ceil(x.low / step) * step; value <= x.high; value += step)
            ticks.emplace_back(value, fmt::format("{:g}", value + 0.0));  // no -0
    }
    for (const auto &[value, text] : ticks)
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-baseline=\"middle\">{}</text>", x.at(value),
                           y.begin + 16, escape_html(text));
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"label\" x=\"{3:.1f}\" y=\"{4:.1f}\" text-baseline=\"middle\">{5}</text>"
        "<text class=\"label\" transform=\"translate(13 {6:.1f}) rotate(-90)\" text-baseline=\"middle\">{7}</text>",
        x.begin, x.end, y.begin, (x.begin + x.end) / 2, plot.height - 8, escape_html(plot.x_label),
        (y.begin + y.end) / 2, escape_html(plot.y_label));
    return svg;
}

}  // namespace

std::string escape_html(const std::string &text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '&':
                escaped += "&amp;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            default:
                escaped += c;
        }
    }
    return escaped;
}

std::string svg_of(const Plot &plot) {
    if (plot.dots.empty()) return "";
    const Axis x = x_axis(plot), y = y_axis(plot);
    std::string svg = fmt::format("<svg viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" role=\"img\">",
                                  plot.width, plot.height);
    svg += axes(plot, x, y);
    for (const bool marked : {false, true}) {  // marked ones on top
        for (const PlotDot &dot : plot.dots) {
            if (dot.marked != marked) continue;
            svg += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>",
                               marked           ? "marked"
                               : dot.y > y.high ? "beyond"
                                                : "dot",
                               x.at(dot.x), y.at(dot.y), marked ? 5 : 3, escape_html(dot.title));
        }
    }
    std::string path;
    for (std::size_t i = 0; i < plot.steps.size(); ++i) {
        const auto &[sx, sy] = plot.steps[i];
        path += i == 0 ? fmt::format("M{:.1f} {:.1f}", x.at(sx), y.at(sy))
                       : fmt::format("H{:.1f}V{:.1f}", x.at(sx), y.at(sy));
    }
    if (!path.empty()) svg += fmt::format("<path class=\"best\" d=\"{}\"/>", path);
    return svg + "</svg>";
}

}  // namespace flashwright
