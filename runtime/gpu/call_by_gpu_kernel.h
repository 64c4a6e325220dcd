// Calls of a kernel that is not in the registry, for the tuner. Not part of the API.
#pragma once

#include "flashwright/flashwright_gpu.h"

#include "gpu_kernels.h"

namespace flashwright {

// As flashwright_gpu_forward_on_stream, but with `kernel`. Fails with UNSUPPORTED if the kernel does not take the call.
flashwright_status forward_on_stream_by_kernel(const flashwright_forward_args &args,
                                               const flashwright_gpu_stream &stream, const GpuKernel &kernel);

}  // namespace flashwright
