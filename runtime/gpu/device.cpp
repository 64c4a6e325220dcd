#include "device.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "HalideRuntime.h"
#include "gpu_kernels.h"
#include "runtime/src/status.h"

namespace flashwright {
namespace {

thread_local DeviceCall *current_call = nullptr;
halide_error_handler_t other_error_handler = nullptr;
halide_print_t other_print = nullptr;

// An application may use the same Halide runtime. Its messages still go to its own handlers.
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

// Settings that Halide's runtime reads from the environment when a backend starts.
constexpr struct Setting {
    const char *backend, *name, *value;
} kSettings[] = {
    // Halide limits kernels to 64 registers. Ours use all that a thread may have.
    {"cuda", "HL_CUDA_JIT_MAX_REGISTERS", "255"},
    // Halide 21 allocates too little Vulkan memory if a size is not a multiple of the device's alignment, which is at
    // most
    // 256 bytes. The last number rounds all sizes up to that.
    {"vulkan", "HL_VK_ALLOC_CONFIG", "0:32:0:0:256"},
};

void prepare_runtime() {
    static std::once_flag once;
    std::call_once(once, [] {
        other_error_handler = halide_set_error_handler(on_error);
        other_print = halide_set_custom_print(on_print);
        for (int i = 0; i < kGpuDeviceCount; ++i) {
            const GpuDevice &device = kGpuDevices[i];
            if (device.streams != nullptr) device.streams->install();
            for (const Setting &setting : kSettings) {
                if (std::strcmp(device.backend, setting.backend) == 0) setenv(setting.name, setting.value, 0);
            }
        }
    });
}

}  // namespace

DeviceCall::DeviceCall(const char *backend, const GpuStream *stream)
    : backend_(backend), stream_(stream), outer_(current_call), failure_(ok_status()) {
    prepare_runtime();
    current_call = this;
}

DeviceCall::~DeviceCall() { current_call = outer_; }

const GpuStream *DeviceCall::stream_of(const void *context) {
    return current_call != nullptr && current_call == context ? current_call->stream_ : nullptr;
}

void DeviceCall::keep(const char *message) {
    if (message_[0] != '\0') return;  // the first message tells the most
    const std::size_t length = std::strcspn(message, "\n");
    append(message_, sizeof message_, "%.*s", static_cast<int>(length), message);
}

int DeviceCall::fail(const flashwright_status &status) {
    failure_ = status;
    return halide_error_code_generic_error;
}

flashwright_status DeviceCall::status(int result) const {
    if (result == halide_error_code_success) return ok_status();
    if (failed(failure_)) return failure_;
    // Halide has one error code for all failures of an allocation on the device.
    const bool refused =
        std::strstr(message_, "OUT_OF_") != nullptr || std::strstr(message_, "ALLOCATION_FAILURE") != nullptr;
    const bool memory =
        result == halide_error_code_out_of_memory || (result == halide_error_code_device_malloc_failed && refused);
    return make_status(memory ? FLASHWRIGHT_OUT_OF_MEMORY : FLASHWRIGHT_DEVICE_ERROR,
                       "backend: expected a working %s driver and device, got error %d: %s", backend_, result,
                       message_[0] != '\0' ? message_ : "no message");
}

flashwright_status find_backend(const char *backend, const GpuDevice **device) {
    if (backend == nullptr) return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "backend: expected a name, got NULL");
    const GpuDevice *found = nullptr;
    for (int i = 0; i < kGpuDeviceCount; ++i) {
        if (std::strcmp(kGpuDevices[i].backend, backend) == 0) found = &kGpuDevices[i];
    }
    if (found != nullptr) {
        *device = found;
        return ok_status();
    }
    char names[64] = "";
    for (int i = 0; i < kGpuDeviceCount; ++i) {
        append(names, sizeof names, "%s%s", i == 0 ? "" : ", ", kGpuDevices[i].backend);
    }
    return make_status(FLASHWRIGHT_UNSUPPORTED, "backend: expected one that is built (%s), got '%s'", names, backend);
}

flashwright_status find_stream(const flashwright_gpu_stream *stream, const GpuDevice **device, GpuStream *found) {
    if (stream == nullptr) return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "stream: expected a pointer, got NULL");
    flashwright_status status = find_backend(stream->backend, device);
    if (failed(status)) return status;
    if ((*device)->streams == nullptr) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "backend: expected one that takes tensors in device memory (cuda), got '%s'",
                           stream->backend);
    }
    if (stream->finite != 0 && stream->finite != 1) {
        return make_status(FLASHWRIGHT_INVALID_ARGUMENT, "finite: expected 0 or 1, got %d", stream->finite);
    }
    *found = {stream->context, stream->stream};
    if (found->context != nullptr) return status;
    DeviceCall call(stream->backend);
    status = call.status((*device)->streams->current_context(call.context(), &found->context));
    if (failed(status) || found->context != nullptr) return status;
    return make_status(FLASHWRIGHT_INVALID_ARGUMENT,
                       "context: expected a context, here or current in this thread, got neither");
}

}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_release(const flashwright_gpu_stream *stream) {
    const GpuDevice *device = nullptr;
    GpuStream where;
    flashwright_status status = find_stream(stream, &device, &where);
    if (failed(status)) return status;
    DeviceCall call(stream->backend, &where);
    // If this context cannot be entered, Halide would unload its kernels from whatever context is current.
    status = call.status(device->streams->enter(call.context()));
    if (failed(status)) return status;
    halide_device_release(call.context(), device->interface());
    device->streams->leave(call.context());
    return status;
}
