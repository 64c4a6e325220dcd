// What a tuning run found, as one page without a server.
#pragma once

#include "tuner/search/recorded_space.h"

#include <string>

namespace flashwright {

std::string html_report(const RecordedRun &run);

}  // namespace flashwright
