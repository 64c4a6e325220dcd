// From the best of the search to the table's rows.
#pragma once

#include "tuned_kernel.h"
#include "tuning_session.h"

#include <vector>

namespace flashwright {

// By shape; fewer if it was stopped.
std::vector<TunedRow> run_finals(TuningSession &session);

}  // namespace flashwright
