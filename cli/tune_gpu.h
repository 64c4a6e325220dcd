// `tune --backend cuda`: the tiles of CUDA kernels, by their code and, where there is a device, by its time.
#pragma once

#include "tuner/tune_listener.h"
#include "tuner/tune_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace flashwright {

// Throws std::invalid_argument where the backend cannot be tuned, or an option was given that only the CPU has; notes
// those that need a device.
void check_gpu_tuning(const CLI::App &command, const std::string &backend, TuneOptions *options);

void run_gpu_tuning(const TuneOptions &options, const TuneListener &listener, bool json);

}  // namespace flashwright
