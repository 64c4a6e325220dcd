// The Halide runtime of the GPU backends, kept from printing and aborting: what it reports becomes a status.
#pragma once

#include "flashwright/flashwright.h"

#include <cstdint>

struct halide_buffer_t;
struct halide_device_interface_t;

namespace flashwright {

// One call on a device, on this thread. What goes wrong during it is kept here.
class DeviceCall {
 public:
    explicit DeviceCall(const char *backend);
    ~DeviceCall();
    DeviceCall(const DeviceCall &) = delete;
    DeviceCall &operator=(const DeviceCall &) = delete;

    // The user_context of Halide's functions.
    void *context() { return this; }
    // The status of a Halide function's result.
    flashwright_status status(int result) const;
    void keep(const char *message);

 private:
    const char *backend_;
    DeviceCall *outer_;
    char message_[200] = "";
};

// UNSUPPORTED or INVALID_ARGUMENT if the build has no such backend.
flashwright_status find_backend(const char *backend, const halide_device_interface_t **device);

}  // namespace flashwright
