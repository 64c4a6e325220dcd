#include "device.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "HalideRuntime.h"
#include "gpu_kernels.h"
#include "status.h"

namespace flashwright {
namespace {

thread_local DeviceCall *current_call = nullptr;
halide_error_handler_t other_error_handler = nullptr;
halide_print_t other_print = nullptr;

// An application may use the same Halide runtime: its messages go where they went before.
void on_error(void *user_context, const char *message) {
    if (current_call != nullptr && user_context == current_call->context()) {
        current_call->keep(message);
    } else {
        other_error_handler(user_context, message);
    }
}

void on_print(void *user_context, const char *message) {
    if (current_call == nullptr || user_context != current_call->context()) other_print(user_context, message);
}

void prepare_runtime() {
    static std::once_flag once;
    std::call_once(once, [] {
        other_error_handler = halide_set_error_handler(on_error);
        other_print = halide_set_custom_print(on_print);
        // Halide caps kernels at 64 registers; ours are made for all that a thread may have.
        setenv("HL_CUDA_JIT_MAX_REGISTERS", "255", 0);
        // Halide 21 hands out too little Vulkan memory for sizes that are no multiple of a device's alignment, which
        // is at most 256 bytes: the last number makes all of them one.
        setenv("HL_VK_ALLOC_CONFIG", "0:32:0:0:256", 0);
    });
}

}  // namespace

DeviceCall::DeviceCall(const char *backend) : backend_(backend), outer_(current_call) {
    prepare_runtime();
    current_call = this;
}

DeviceCall::~DeviceCall() { current_call = outer_; }

void DeviceCall::keep(const char *message) {
    if (message_[0] != '\0') return;  // the first says most
    const std::size_t length = std::strcspn(message, "\n");
    append(message_, sizeof message_, "%.*s", static_cast<int>(length), message);
}

flashwright_status DeviceCall::status(int result) const {
    if (result == halide_error_code_success) return ok_status();
    const bool memory = result == halide_error_code_out_of_memory || result == halide_error_code_device_malloc_failed;
    return make_status(memory ? FLASHWRIGHT_OUT_OF_MEMORY : FLASHWRIGHT_DEVICE_ERROR,
                       "backend: expected a working %s driver and device, got error %d: %s", backend_, result,
                       message_[0] != '\0' ? message_ : "no message");
}

flashwright_status find_backend(const char *backend, const halide_device_interface_t **device) {
    if (backend == nullptr) return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "backend: expected a name, got NULL");
    const GpuDevice *found = nullptr;
    for (int i = 0; i < kGpuDeviceCount; ++i) {
        if (std::strcmp(kGpuDevices[i].backend, backend) == 0) found = &kGpuDevices[i];
    }
    if (found != nullptr) {
        *device = found->interface();
        return ok_status();
    }
    char names[64] = "";
    for (int i = 0; i < kGpuDeviceCount; ++i) {
        append(names, sizeof names, "%s%s", i == 0 ? "" : ", ", kGpuDevices[i].backend);
    }
    return make_status(FLASHWRIGHT_UNSUPPORTED, "backend: expected one that is built (%s), got '%s'", names, backend);
}

}  // namespace flashwright
