// The two plans that flashwright_plan makes. Both throw ConfigurationError.
#pragma once

#include "arguments.h"

namespace flashwright {

void plan_cpu(const Arguments &arguments);
void plan_gpu(const Arguments &arguments);

}  // namespace flashwright
