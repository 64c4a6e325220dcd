// The Halide runtime of the GPU backends, kept from printing and aborting: what it reports becomes a status.
#pragma once

#include "flashwright/flashwright_gpu.h"

namespace flashwright {

// A stream of the caller's.
struct GpuStream {
    void *context, *stream;
};

// One call on a device, on this thread. What goes wrong during it is kept here.
class DeviceCall {
 public:
    // `stream`: where it runs; else in the runtime's own context.
    explicit DeviceCall(const char *backend, const GpuStream *stream = nullptr);
    ~DeviceCall();
    DeviceCall(const DeviceCall &) = delete;
    DeviceCall &operator=(const DeviceCall &) = delete;

    // The user_context of Halide's functions.
    void *context() { return this; }
    // The status of a Halide function's result: that of `fail` if there was one, else one that has the driver's words.
    flashwright_status status(int result) const;
    void keep(const char *message);
    // For what is neither the driver's nor the device's. The code for Halide.
    int fail(const flashwright_status &status);
    // The stream of the call of this thread that `context` belongs to, if there is one.
    static const GpuStream *stream_of(const void *context);

 private:
    const char *backend_;
    const GpuStream *stream_;
    DeviceCall *outer_;
    char message_[200] = "";
    flashwright_status failure_;
};

struct GpuDevice;

// UNSUPPORTED or INVALID_ARGUMENT if the build has no such backend.
flashwright_status find_backend(const char *backend, const GpuDevice **device);
// The same, and where the backend takes no streams or there is no context.
flashwright_status find_stream(const flashwright_gpu_stream *stream, const GpuDevice **device, GpuStream *found);

}  // namespace flashwright
