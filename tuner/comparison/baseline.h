// The default kernel, which all others are measured against, and how much its own times differ.
#pragma once

#include "tuner/tuning_session.h"

namespace flashwright {

// Throws std::runtime_error if the default cannot be built and run.
void prepare_default(TuningSession &session);

// The default against a copy of itself, which is another file and so lies elsewhere in memory.
void measure_noise(TuningSession &session);

}  // namespace flashwright
