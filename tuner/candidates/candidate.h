// A CPU kernel that was built as a candidate, in a child process.
#pragma once

#include "flashwright/flashwright.h"
#include "kernel_family.h"

#include <string>

#include "runtime/src/kernel_abi.h"

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

}  // namespace flashwright
