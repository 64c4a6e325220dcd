// The baseline: the default variant of the build, which every candidate is compared with.
#pragma once

#include "tuner/tuning_session.h"

namespace flashwright {

// Throws std::runtime_error if the baseline cannot be built and run.
void prepare_baseline(TuningSession &session);

// Determines the noise floors: compares the baseline with a copy of itself at other addresses.
void measure_noise(TuningSession &session);

}  // namespace flashwright
