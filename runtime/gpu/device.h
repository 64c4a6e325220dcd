// The Halide runtime of the GPU backends. It must not print or abort, so what it reports becomes a status.
#pragma once

#include "flashwright/flashwright_gpu.h"

namespace flashwright {

// The caller's stream.
struct GpuStream {
    void *context, *stream;
};

// One call on a device, on this thread. It keeps the errors that occur during the call.
class DeviceCall {
 public:
    // The call runs on `stream` if there is one, else in the runtime's own context.
    explicit DeviceCall(const char *backend, const GpuStream *stream = nullptr);
    ~DeviceCall();
    DeviceCall(const DeviceCall &) = delete;
    DeviceCall &operator=(const DeviceCall &) = delete;

    // The user_context of Halide's functions.
    void *context() { return this; }
    // The status for the result of a Halide function: that of `fail` if it was called, else one with the driver's
    // message.
    flashwright_status status(int result) const;
    void keep(const char *message);
    // Reports an error that is neither the driver's nor the device's. Returns the error code for Halide.
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

// Fails with UNSUPPORTED or INVALID_ARGUMENT if the build has no such backend.
flashwright_status find_backend(const char *backend, const GpuDevice **device);
// Fails also if the backend takes no streams or if there is no context.
flashwright_status find_stream(const flashwright_gpu_stream *stream, const GpuDevice **device, GpuStream *found);

}  // namespace flashwright
