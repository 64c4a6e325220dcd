// Whether there is a CUDA device to measure on, found out in a child process.
#pragma once

#include "cuda_session.h"
#include "support/child_process.h"

#include <optional>
#include <string>

namespace flashwright {

struct DeviceSearch {
    std::optional<CudaDevice> device;
    std::string reason;   // why there is none
    bool failed = false;  // for the driver, which there is, gave none
};

DeviceSearch find_cuda_device(const StopRequested &stop_requested);

}  // namespace flashwright
