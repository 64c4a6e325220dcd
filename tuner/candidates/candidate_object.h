// The code of a built candidate, loaded into this process, which is a child made for that. Each is a copy of the file
// in pages of its own: a kernel's speed depends by a percent or two on the physical pages that its code happens to get,
// and the page cache would hand out the same ones every time.
#pragma once

#include <string>

namespace flashwright {

// The C name of every candidate's kernel.
inline constexpr const char *kCandidateSymbol = "flashwright_candidate";

// Linker arguments that make a shared object of a kernel's object; its scratch memory comes from the loading program.
inline constexpr const char *kCandidateLinkerOptions[] = {"-shared", "--wrap=flashwright_scratch_allocate",
                                                          "--wrap=flashwright_scratch_free"};

// The kernel's function, never unloaded: the process ends first. Throws std::runtime_error if the file cannot be
// loaded.
void *load_candidate(const std::string &shared_object);

}  // namespace flashwright
