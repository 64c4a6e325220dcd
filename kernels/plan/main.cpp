// flashwright_plan: what the build generates. CMake runs it while it configures (cmake/plan_kernels.cmake), on the
// machine that builds.
//   flashwright_plan NAME=VALUE...
// writes the plan and the registry of the kernels that are asked for:
//   kernels                     cpu or gpu
//   processor, system, target   CMAKE_SYSTEM_PROCESSOR and CMAKE_SYSTEM_NAME, or instead of both a target of Halide's
//   source_dir                  of the project that is configured
//   plan, registry, warnings    the files to write
// Of CPU kernels:
//   defaults, config            the configuration that ships; those to use, one argument each
//   OPS, DTYPES, ISAS           which kernels, one argument each; none: all
//   generator_hash, any_machine, strict   as in kernels/choose_configurations.h
// Of GPU kernels:
//   config, backend             FLASHWRIGHT_GPU_CONFIG; FLASHWRIGHT_BACKENDS, one argument each
// The plan has a line for each fact: file|PATH, skipped|ISA, target|ISA|HALIDE_TARGET (of every ISA) or
// target|BACKEND|HALIDE_TARGET, and kernel|NAME|ARGUMENTS. Warnings are any text, which CMake could not read as a list.
// An error is one line on stderr.
#include "plans.h"

#include <exception>
#include <iostream>
#include <stdexcept>

int main(int argc, char **argv) {
    try {
        const flashwright::Arguments arguments(argc, argv);
        const std::string kernels = arguments.value("kernels");
        if (kernels == "gpu") {
            flashwright::plan_gpu(arguments);
        } else if (kernels == "cpu") {
            flashwright::plan_cpu(arguments);
        } else {
            throw std::runtime_error("kernels: expected cpu or gpu, got " + kernels);
        }
        return 0;
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
