// Halide's names of processors, operating systems and whole targets.
#pragma once

#include "isa.h"

#include <string>

namespace flashwright {

struct Processor {
    const char *name;   // as CMAKE_SYSTEM_PROCESSOR, and in kIsas
    const char *alias;  // another name that CMake has for it
    const char *halide;
};
inline constexpr Processor kProcessors[] = {{"x86_64", "amd64", "x86-64"},
                                            {"aarch64", "arm64", "arm-64"},
                                            {"riscv64", "", "riscv-64"},
                                            {"wasm32", "", "wasm-32"}};

struct System {
    const char *name;  // as CMAKE_SYSTEM_NAME
    const char *halide;
};
inline constexpr System kSystems[] = {
    {"Linux", "linux"}, {"Darwin", "osx"}, {"Windows", "windows"}, {"WASI", "wasmrt"}};

// Null for a name that is none; case does not matter in the name of a processor.
const Processor *find_processor(const std::string &name);
const System *find_system(const std::string &name);

// The target of a kernel.
std::string halide_target(const Isa &isa, const System &system);

}  // namespace flashwright
