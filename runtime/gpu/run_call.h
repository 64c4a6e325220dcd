// Runs a call on a device with the kernel that was found for it.
#pragma once

#include "device.h"
#include "gpu_kernels.h"
#include "runtime/src/status.h"

namespace flashwright {

inline flashwright_status no_kernel(const char *backend) {
    return make_status(FLASHWRIGHT_UNSUPPORTED,
                       "q: expected a call that some kernel of backend %s takes, got one that none takes", backend);
}

// `Call` has the steps prepare, launch, fetch and deliver. Only deliver writes outputs. `kernel` is null if none takes
// the call.
template <typename Call, typename Problem, typename Kernel>
flashwright_status run_call(const Problem &problem, const Kernel *kernel, const char *backend, const char **name) {
    if (kernel == nullptr) return no_kernel(backend);
    DeviceCall device(backend);
    Call call(problem, *kernel, device.context());
    flashwright_status status = call.prepare();
    if (!failed(status)) status = device.status(call.launch());
    if (!failed(status)) status = device.status(call.fetch());
    if (failed(status)) return status;
    call.deliver();
    if (name != nullptr) *name = kernel->name;
    return status;
}

// `Call` has the steps prepare, which enqueues nothing, and launch.
template <typename Call, typename Problem, typename Kernel>
flashwright_status run_on_stream(const Problem &problem, const Kernel *kernel, const GpuDevice &device,
                                 const GpuStream &stream, const char **name) {
    if (kernel == nullptr) return no_kernel(device.backend);
    DeviceCall device_call(device.backend, &stream);
    Call call(problem, *kernel, device, device_call.context());
    flashwright_status status = call.prepare();
    if (!failed(status)) status = device_call.status(call.launch());
    if (!failed(status) && name != nullptr) *name = kernel->name;
    return status;
}

}  // namespace flashwright
