// `tune --backend cuda`.
#pragma once

#include "tuner/tune_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace flashwright {

// Throws std::invalid_argument if the backend cannot be tuned, or for an option of the CPU alone. Notes options that
// need a device.
void check_gpu_tuning(const CLI::App &command, const std::string &backend, TuneOptions *options);

void run_gpu_tuning(const TuneOptions &options, const TuneListener &listener, bool json);

}  // namespace flashwright
