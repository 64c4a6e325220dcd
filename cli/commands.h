// The subcommands. Each adds itself to its parent, and does its work when the command line names it.
#pragma once

#include <CLI/CLI.hpp>

namespace flashwright {

void add_run_forward(CLI::App &run);
void add_run_backward(CLI::App &run);
void add_run_merge(CLI::App &run);
void add_run_step(CLI::App &run);
void add_bench(CLI::App &app);
void add_info(CLI::App &app);
void add_tune(CLI::App &app);
void add_replay(CLI::App &app);
void add_report(CLI::App &app);

}  // namespace flashwright
