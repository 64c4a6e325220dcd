// Checks of option values that CLI11 does not make by itself.
#pragma once

#include <CLI/CLI.hpp>

namespace flashwright {

// An unset shell variable must not pass for an option that was not given.
CLI::Validator not_empty();

// CLI11 takes a number past the range for the nearest one.
CLI::Validator fits_int64();

}  // namespace flashwright
