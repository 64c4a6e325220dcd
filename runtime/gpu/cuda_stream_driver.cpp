// CUDA streams, by functions of the driver that Halide's runtime has loaded. Built if CUDA is a backend.
#include <HalideRuntimeCuda.h>

#include <cstdio>
#include <cstring>
#include <mutex>

#include "device.h"
#include "gpu_stream_driver.h"
#include "runtime/src/status.h"

// A function of Halide's runtime that no header declares.
extern "C" void *halide_cuda_get_symbol(void *user_context, const char *name);

namespace flashwright {
namespace {

using Result = int;  // CUresult
constexpr Result kSuccess = 0, kOutOfMemory = 2;
// With a NULL stream, Halide's runtime would copy by functions that wait. This handle names the same stream.
void *const kLegacyStream = reinterpret_cast<void *>(1);

struct Driver {
    Result (*get_current)(void **context);
    Result (*push)(void *context);
    Result (*pop)(void **context);
    Result (*is_capturing)(void *stream, int *status);
    Result (*allocate)(std::uint64_t *address, std::size_t bytes, void *stream);
    Result (*deallocate)(std::uint64_t address, void *stream);
    Result (*send)(std::uint64_t address, const void *host, std::size_t bytes, void *stream);
    Result (*error_name)(Result result, const char **name);
};

halide_cuda_acquire_context_t other_acquire = nullptr;
halide_cuda_get_stream_t other_get_stream = nullptr;
halide_load_library_t other_load_library = nullptr;

int acquire_context(void *user_context, void **context, bool create) {
    const GpuStream *stream = DeviceCall::stream_of(user_context);
    if (stream == nullptr) return other_acquire(user_context, context, create);
    *context = stream->context;
    return halide_error_code_success;
}

void *handle(const GpuStream &stream) { return stream.stream != nullptr ? stream.stream : kLegacyStream; }
void *stream_of(const void *call) { return handle(*DeviceCall::stream_of(call)); }

int get_stream(void *user_context, void *context, void **stream) {
    const GpuStream *given = DeviceCall::stream_of(user_context);
    if (given == nullptr) return other_get_stream(user_context, context, stream);
    *stream = handle(*given);
    return halide_error_code_success;
}

// Halide's runtime looks for libcuda.so, which comes with development files. A driver installs libcuda.so.1.
void *load_library(const char *name) {
    void *library = other_load_library(name);
    return library == nullptr && std::strcmp(name, "libcuda.so") == 0 ? other_load_library("libcuda.so.1") : library;
}

void install() {
    other_load_library = halide_set_custom_load_library(load_library);
    other_acquire = halide_set_cuda_acquire_context(acquire_context);
    other_get_stream = halide_set_cuda_get_stream(get_stream);
}

void keep(void *call, const char *message) { static_cast<DeviceCall *>(call)->keep(message); }

template <typename Function>
bool load(void *call, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(halide_cuda_get_symbol(call, name));
    if (*function != nullptr) return true;
    char message[80];
    std::snprintf(message, sizeof message, "CUDA API not found: %s", name);
    keep(call, message);
    return false;
}

bool load(void *call, Driver *driver) {
    return load(call, "cuCtxGetCurrent", &driver->get_current) && load(call, "cuCtxPushCurrent_v2", &driver->push) &&
           load(call, "cuCtxPopCurrent_v2", &driver->pop) && load(call, "cuStreamIsCapturing", &driver->is_capturing) &&
           load(call, "cuMemAllocAsync", &driver->allocate) && load(call, "cuMemFreeAsync", &driver->deallocate) &&
           load(call, "cuMemcpyHtoDAsync_v2", &driver->send) && load(call, "cuGetErrorName", &driver->error_name);
}

// NULL if there is none; the call then keeps the reason.
const Driver *find_driver(void *call) {
    static std::mutex mutex;
    static Driver driver;
    static bool loaded = false;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!loaded) loaded = load(call, &driver);
    return loaded ? &driver : nullptr;
}

int check(void *call, const Driver &driver, Result result, const char *function) {
    if (result == kSuccess) return halide_error_code_success;
    const char *name = nullptr;
    if (driver.error_name(result, &name) != kSuccess) name = "unknown";
    char message[160];
    std::snprintf(message, sizeof message, "CUDA error: %s %s failed", name, function);
    keep(call, message);
    return result == kOutOfMemory ? halide_error_code_out_of_memory : halide_error_code_gpu_device_error;
}

int current_context(void *call, void **context) {
    const Driver *driver = find_driver(call);
    if (driver == nullptr) return halide_error_code_symbol_not_found;
    return check(call, *driver, driver->get_current(context), "cuCtxGetCurrent");
}

void leave(void *call) {
    void *context;
    find_driver(call)->pop(&context);
}

// A captured graph would copy from host memory that has been freed.
int refuse_capture(void *call, const Driver &driver) {
    int capturing = 0;
    const int result = check(call, driver, driver.is_capturing(stream_of(call), &capturing), "cuStreamIsCapturing");
    if (result != halide_error_code_success || capturing == 0) return result;
    return static_cast<DeviceCall *>(call)->fail(make_status(
        FLASHWRIGHT_DEVICE_ERROR, "stream: expected one that is not being captured into a graph, got one that is"));
}

int enter(void *call) {
    const Driver *driver = find_driver(call);
    if (driver == nullptr) return halide_error_code_symbol_not_found;
    int result = check(call, *driver, driver->push(DeviceCall::stream_of(call)->context), "cuCtxPushCurrent");
    if (result != halide_error_code_success) return result;
    result = refuse_capture(call, *driver);
    if (result != halide_error_code_success) leave(call);
    return result;
}

int allocate(void *call, std::size_t bytes, std::uint64_t *address) {
    const Driver &driver = *find_driver(call);
    return check(call, driver, driver.allocate(address, bytes, stream_of(call)), "cuMemAllocAsync");
}

int deallocate(void *call, std::uint64_t address) {
    const Driver &driver = *find_driver(call);
    return check(call, driver, driver.deallocate(address, stream_of(call)), "cuMemFreeAsync");
}

int send(void *call, std::uint64_t address, const void *host, std::size_t bytes) {
    const Driver &driver = *find_driver(call);
    return check(call, driver, driver.send(address, host, bytes, stream_of(call)), "cuMemcpyHtoDAsync");
}

}  // namespace

extern const GpuStreamDriver kCudaStreamDriver;
const GpuStreamDriver kCudaStreamDriver = {install, current_context, enter, leave, allocate, deallocate, send};

}  // namespace flashwright
