// Contexts and streams of the fake driver.
#include <atomic>

#include "driver.h"

namespace fake_cuda {
namespace {

// Of plain data, as the runtime asks for more when the process ends and objects of threads are gone.
struct ContextStack {
    void *contexts[16];
    std::size_t depth;
};
thread_local ContextStack stack;

Result push(void *context) {
    if (stack.depth == sizeof stack.contexts / sizeof *stack.contexts) return kInvalidValue;
    stack.contexts[stack.depth++] = context;
    return kSuccess;
}

}  // namespace

void *current_context() { return stack.depth == 0 ? nullptr : stack.contexts[stack.depth - 1]; }

std::size_t context_depth() { return stack.depth; }

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuCtxCreate_v2(void **context, unsigned, int) {
    const Result result = enter("cuCtxCreate");
    if (result != kSuccess) return result;
    static std::atomic<std::uintptr_t> next{0x10000};
    *context = reinterpret_cast<void *>(next += 16);  // each has an address of its own
    return push(*context);
}

Result cuCtxDestroy_v2(void *context) {
    const Result result = enter("cuCtxDestroy");
    if (result == kSuccess && current_context() == context) --stack.depth;
    return result;
}

Result cuCtxGetApiVersion(void *, unsigned *version) {
    *version = 12000;
    return enter("cuCtxGetApiVersion");
}

Result cuCtxGetDevice(int *device) {
    *device = 0;
    return enter("cuCtxGetDevice");
}

Result cuCtxGetCurrent(void **context) {
    *context = current_context();
    return enter("cuCtxGetCurrent");
}

Result cuCtxPushCurrent_v2(void *context) {
    const Result result = enter("cuCtxPushCurrent");
    return result == kSuccess ? push(context) : result;
}

Result cuCtxPopCurrent_v2(void **context) {
    if (stack.depth == 0) return kInvalidContext;
    *context = current_context();
    --stack.depth;
    return kSuccess;
}

Result cuCtxSynchronize() { return enter_context({"cuCtxSynchronize", nullptr}); }
Result cuStreamSynchronize(void *stream) { return enter_context({"cuStreamSynchronize", nullptr, stream}); }

Result cuStreamCreate(void **stream, unsigned) {
    const Result result = enter_context({"cuStreamCreate", nullptr});
    if (result == kSuccess) *stream = new char;
    return result;
}

Result cuStreamDestroy_v2(void *stream) {
    delete static_cast<char *>(stream);
    return enter_context({"cuStreamDestroy", nullptr, stream});
}

Result cuStreamIsCapturing(void *stream, int *status) {
    const Result result = enter_context({"cuStreamIsCapturing", nullptr, stream});
    *status = stream == kCapturedStream ? 1 : 0;
    return result;
}

}  // extern "C"
