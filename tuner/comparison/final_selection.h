// The last stage of tuning: from the best candidates of the search to the rows of the table.
#pragma once

#include "tuner/records/tuned_kernel.h"
#include "tuner/tuning_session.h"

#include <cstddef>
#include <vector>

namespace flashwright {

// Sequential halving on each shape, then select_variants, then a paired comparison with the baseline on each shape. One
// row for each shape; fewer if a stop was requested.
std::vector<TunedRow> run_final_selection(TuningSession &session);

// The smallest set of variants that, together with the baseline, is within `slack` (1.05: 5 %) of the best on every
// shape. `ratios[variant][shape]` are times over the baseline's. Variants are chosen greedily, from one to
// `max_variants`: each serves as many more shapes as possible; ties are broken by the smaller geometric mean, then by
// order.
std::vector<std::size_t> select_variants(const std::vector<std::vector<double>> &ratios, double slack,
                                         std::size_t max_variants);

}  // namespace flashwright
