// A CPU candidate that is loaded in a child process.
#pragma once

#include "flashwright/flashwright.h"
#include "kernel_family.h"
#include "runtime/src/kernel_abi.h"

#include <string>

namespace flashwright {

class CpuCandidate {
 public:
    // Throws std::runtime_error if the file cannot be loaded.
    CpuCandidate(const std::string &shared_object, const CpuTiles &tiles, const KernelFamily &family);
    CpuCandidate(const CpuCandidate &) = delete;
    CpuCandidate &operator=(const CpuCandidate &) = delete;

    // The family's op, on one thread. `as_shipped`: rows that fill no tile are computed by the kernel that a library
    // with this candidate would choose for them, otherwise by the candidate.
    void forward(const flashwright_forward_args &args, bool as_shipped) const;
    void backward(const flashwright_backward_args &args) const;

 private:
    std::string isa_;
    Kernel kernel_;
};

}  // namespace flashwright
