// Scatter plots as SVG, self-contained.
#pragma once

#include <string>
#include <vector>

namespace flashwright {

struct PlotDot {
    double x, y;
    std::string title;  // shown on hovering
    bool marked = false;
};

struct Plot {
    std::string x_label, y_label;
    std::vector<PlotDot> dots;
    std::vector<std::pair<double, double>> steps;       // points of a step line
    std::vector<std::pair<double, std::string>> ticks;  // of the x axis; empty: numbers
    double width = 640, height = 300;
};

// The y axis ends at three times the distance of the median from the minimum. Dots above stand on its edge.
std::string svg_of(const Plot &plot);

std::string escape_html(const std::string &text);

}  // namespace flashwright
