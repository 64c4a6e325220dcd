// The CUDA toolkit's assembler and disassembler, and the report of ptxas. Neither needs a device.
#pragma once

#include "gpu_model.h"

#include <string>
#include <vector>

namespace flashwright {

struct CudaTools {
    std::string ptxas, nvdisasm;
    std::vector<GpuArchitecture> architectures;  // that this ptxas supports
};

// Searches the folder CUDA_TOOLS, the PATH and /usr/local/cuda/bin. Throws std::runtime_error.
CudaTools find_cuda_tools();

// The architectures in the text of `ptxas --help`.
std::vector<GpuArchitecture> known_architectures(const std::string &help);

struct PtxasReport {
    int registers = 0;     // of a thread
    int spilled = 0;       // bytes stored and loaded
    int shared_bytes = 0;  // that the code declares
};

// Of the output of `ptxas -v`. Throws std::runtime_error if it has no number of registers.
PtxasReport parse_ptxas_report(const std::string &text);

}  // namespace flashwright
