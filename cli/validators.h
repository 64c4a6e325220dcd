// Options and checks of their values that CLI11 does not make by itself.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace flashwright {

// An unset shell variable must not pass for an option that was not given.
CLI::Validator not_empty();

// An option that names a file.
CLI::Option *add_file_option(CLI::App &command, const std::string &name, std::string &path, const std::string &what);

// Of dtypes that have CPU kernels.
std::vector<std::string> cpu_dtype_names();

// Takes the names of dtypes that have CPU kernels, and shows them in the help.
void take_cpu_dtypes(CLI::Option *option);

// CLI11 takes NaN for a positive number.
CLI::Validator positive_and_finite();

// CLI11 takes a number past the range for the nearest one.
CLI::Validator fits_int64();

}  // namespace flashwright
