// From the best of the search to the table's rows.
#pragma once

#include "tuner/records/tuned_kernel.h"
#include "tuner/tuning_session.h"

#include <vector>

namespace flashwright {

// By shape; fewer if it was stopped.
std::vector<TunedRow> run_finals(TuningSession &session);

}  // namespace flashwright
