// A built candidate, loaded into this process, which is a child made for that. Each is a copy of the file in pages of
// its own: a kernel's speed depends by a percent or two on the physical pages that its code happens to get, and the
// page cache would hand out the same ones every time.
#pragma once

#include "flashwright/flashwright.h"
#include "kernel_family.h"

#include <string>

#include "../../runtime/src/kernel_abi.h"

namespace flashwright {

class Candidate {
 public:
    // Throws std::runtime_error if the file cannot be loaded.
    Candidate(const std::string &shared_object, const CpuSimdTiles &tiles, const KernelFamily &family);
    Candidate(const Candidate &) = delete;
    Candidate &operator=(const Candidate &) = delete;

    // What the family's op is, on one thread. `as_shipped`: rows that fill no tile by the kernel that this build would
    // take for them, as in a library that holds the candidate; else by the candidate.
    void forward(const flashwright_forward_args &args, bool as_shipped) const;
    void backward(const flashwright_backward_args &args) const;

 private:
    std::string isa_;
    Kernel kernel_;
};

// The C name of every candidate's kernel.
inline constexpr const char *kCandidateSymbol = "flashwright_candidate";

// Linker arguments that make a shared object of a kernel's object; its scratch memory comes from the loading program.
inline constexpr const char *kCandidateLinkerOptions[] = {"-shared", "--wrap=flashwright_scratch_allocate",
                                                          "--wrap=flashwright_scratch_free"};

}  // namespace flashwright
