// Programs of the CUDA toolkit that look at code, and what ptxas reports. None needs a device.
#pragma once

#include "gpu_model.h"

#include <string>
#include <vector>

namespace flashwright {

struct CudaTools {
    std::string ptxas, nvdisasm;
    std::vector<GpuArchitecture> architectures;  // that this ptxas knows
};

// In the folder that CUDA_TOOLS names, on the PATH or in /usr/local/cuda/bin. Throws std::runtime_error.
CudaTools find_cuda_tools();

// Those that the text of `ptxas --help` names.
std::vector<GpuArchitecture> known_architectures(const std::string &help);

struct PtxasReport {
    int registers = 0;     // of a thread
    int spilled = 0;       // bytes stored and loaded
    int shared_bytes = 0;  // that the code itself declares
};

// From what `ptxas -v` prints. Throws std::runtime_error if no registers are in it.
PtxasReport parse_ptxas_report(const std::string &text);

}  // namespace flashwright
