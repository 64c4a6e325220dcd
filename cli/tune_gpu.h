// `tune --backend cuda`: the tiles of CUDA kernels, without a device.
#pragma once

#include "tune_listener.h"
#include "tune_options.h"

#include <CLI/CLI.hpp>

#include <string>

namespace flashwright {

// Throws std::invalid_argument where the backend cannot be tuned, or an option was given that only the CPU has.
void check_gpu_tuning(const CLI::App &command, const std::string &backend, const TuneOptions &options);

void run_gpu_tuning(const TuneOptions &options, const TuneListener &listener, bool json);

}  // namespace flashwright
