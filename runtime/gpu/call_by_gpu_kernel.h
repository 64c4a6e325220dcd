// Not part of the API: calls by a kernel that no registry holds, for the tuner.
#pragma once

#include "flashwright/flashwright_gpu.h"

#include "gpu_kernels.h"

namespace flashwright {

// flashwright_gpu_forward_on_stream, but by `kernel`. UNSUPPORTED for a call that it does not take.
flashwright_status forward_on_stream_by_kernel(const flashwright_forward_args &args,
                                               const flashwright_gpu_stream &stream, const GpuKernel &kernel);

}  // namespace flashwright
