#include "select_variants.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashwright {

std::vector<std::size_t> cover(const std::vector<std::vector<double>> &ratios, double slack, std::size_t most) {
    std::vector<std::size_t> chosen;
    if (ratios.empty()) return chosen;
    const std::size_t shapes = ratios[0].size();
    std::vector<double> best(shapes, 1);
    for (const auto &row : ratios) {
        for (std::size_t shape = 0; shape < shapes; ++shape) best[shape] = std::min(best[shape], row[shape]);
    }
    std::vector<bool> served;
    for (const double ratio : best) served.push_back(1 <= slack * ratio);
    while (chosen.size() < most && (chosen.empty() || std::find(served.begin(), served.end(), false) != served.end())) {
        std::size_t winner = 0, most_served = 0;
        double smallest = std::numeric_limits<double>::infinity();
        for (std::size_t variant = 0; variant < ratios.size(); ++variant) {
            std::size_t serves = 0;
            double sum = 0;
            for (std::size_t shape = 0; shape < shapes; ++shape) {
                if (!served[shape] && ratios[variant][shape] <= slack * best[shape]) ++serves;
                sum += std::log(ratios[variant][shape]);
            }
            if (serves > most_served || (serves == most_served && sum < smallest)) {
                winner = variant, most_served = serves, smallest = sum;
            }
        }
        chosen.push_back(winner);
        for (std::size_t shape = 0; shape < shapes; ++shape)
            served[shape] = served[shape] || ratios[winner][shape] <= slack * best[shape];
    }
    return chosen;
}

}  // namespace flashwright
