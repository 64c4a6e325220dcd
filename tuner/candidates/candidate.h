// A built candidate, and loading its code into a child process.
#pragma once

#include "kernels/cpu_tiles.h"
#include "kernels/gpu_tiles.h"

#include <string>
#include <variant>

namespace flashwright {

struct Candidate {
    std::string shared_object;
    std::variant<CpuTiles, GpuTiles> tiles;
};

// The C name of every candidate's kernel.
inline constexpr const char *kCandidateSymbol = "flashwright_candidate";

// Linker options that make a shared object of a kernel's object. Scratch memory comes from the loading program.
inline constexpr const char *kCandidateLinkerOptions[] = {"-shared", "--wrap=flashwright_scratch_allocate",
                                                          "--wrap=flashwright_scratch_free"};

// The kernel's function, which is never unloaded. Loads a copy of the file in memory pages of its own: the speed of a
// kernel depends by one or two percent on its physical pages, and the page cache would give the same ones every time.
// Throws std::runtime_error if the file cannot be loaded.
void *load_candidate(const std::string &shared_object);

}  // namespace flashwright
