#include "fake_cuda.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>

#include "interpreter_process.h"

namespace {

using Result = int;  // CUresult
constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kInvalidHandle = 400;
constexpr std::size_t kMemory = std::size_t{1} << 30;
constexpr std::size_t kAlignment = 256;

struct Module {
    std::string ptx;
};

struct Function {
    Module *module;
    std::string name;
    std::vector<std::size_t> argument_bytes;
};

struct State {
    std::mutex mutex;
    std::vector<fake_cuda::Call> calls;
    int calls_to_failure = -1;
    Result failure = kSuccess;
    std::string never_fails;
    // Device memory is a file, which the interpreter maps, too. What was freed is used again when nothing is left.
    int file = memfd_create("fake_cuda", 0);
    char *memory = nullptr;
    std::size_t used = kAlignment;
    std::map<std::uint64_t, std::size_t> allocations;
    std::set<Module *> modules;
    std::vector<std::unique_ptr<Function>> functions;
    std::unique_ptr<InterpreterProcess> interpreter;

    State() {
        if (ftruncate(file, kMemory) != 0) std::abort();
        memory = static_cast<char *>(mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        if (memory == MAP_FAILED) std::abort();
        if (const char *command = std::getenv("FAKE_CUDA_INTERPRETER")) {
            interpreter = std::make_unique<InterpreterProcess>(command, file);
        }
    }
};

// Never destroyed: Halide's runtime calls the driver when the process ends.
State &state() {
    static State *state = new State;
    return *state;
}

// Of plain data, as the runtime asks for more when the process ends and objects of threads are gone.
struct ContextStack {
    void *contexts[16];
    std::size_t depth;
};
thread_local ContextStack stack;

void *current() { return stack.depth == 0 ? nullptr : stack.contexts[stack.depth - 1]; }

Result push(void *context) {
    if (stack.depth == sizeof stack.contexts / sizeof *stack.contexts) return kInvalidValue;
    stack.contexts[stack.depth++] = context;
    return kSuccess;
}

// Writes the call down; whether it shall go on.
Result enter(fake_cuda::Call call) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    call.context = current();
    s.calls.push_back(std::move(call));
    const bool may_fail = s.calls_to_failure >= 0 && s.calls.back().function != s.never_fails;
    return may_fail && s.calls_to_failure-- == 0 ? s.failure : kSuccess;
}

Result enter(const char *function) { return enter({function, nullptr}); }

// The same for what needs a context.
Result enter_context(fake_cuda::Call call) {
    const Result result = enter(std::move(call));
    return result != kSuccess || current() != nullptr ? result : kInvalidContext;
}

bool in_device_memory(std::uint64_t address, std::size_t bytes) {
    const State &s = state();
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(s.memory);
    return address >= begin && address + bytes <= begin + s.used;
}

Result allocate(std::uint64_t *address, std::size_t bytes) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (s.allocations.empty()) s.used = kAlignment;
    if (bytes == 0 || s.used + bytes > kMemory) return kOutOfMemory;
    *address = reinterpret_cast<std::uint64_t>(s.memory + s.used);
    s.allocations[*address] = bytes;
    std::memset(s.memory + s.used, 0xff, bytes);  // NaN
    s.used += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return kSuccess;
}

Result release(std::uint64_t address) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    return s.allocations.erase(address) == 1 ? kSuccess : kInvalidValue;
}

Result copy_to_device(std::uint64_t to, const void *from, std::size_t bytes) {
    if (!in_device_memory(to, bytes)) return kInvalidValue;
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return kSuccess;
}

Result copy_to_host(void *to, std::uint64_t from, std::size_t bytes) {
    if (!in_device_memory(from, bytes)) return kInvalidValue;
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return kSuccess;
}

Result copy_on_device(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    return in_device_memory(from, bytes) ? copy_to_device(to, reinterpret_cast<const void *>(from), bytes)
                                         : kInvalidValue;
}

std::vector<std::size_t> argument_bytes(const std::string &ptx, const std::string &name) {
    const std::size_t begin = ptx.find(".entry " + name + "("), end = ptx.find(')', begin);
    std::vector<std::size_t> sizes;
    if (begin == std::string::npos) return sizes;
    const std::string text = ptx.substr(begin, end - begin);
    static const std::regex parameter("\\.param \\.[usbf](8|16|32|64) ");
    for (std::sregex_iterator at(text.begin(), text.end(), parameter), last; at != last; ++at) {
        sizes.push_back(std::stoul((*at)[1]) / 8);
    }
    return sizes;
}

}  // namespace

namespace fake_cuda {

std::vector<Call> calls() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().calls;
}

void reset() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().calls.clear();
    state().calls_to_failure = -1;
}

void fail_after(int skipped, int error, const std::string &but) {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().calls_to_failure = skipped;
    state().failure = error;
    state().never_fails = but;
}

std::size_t living_allocations() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().allocations.size();
}

std::size_t living_modules() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().modules.size();
}

bool failure_pending() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().calls_to_failure >= 0;
}

std::size_t context_depth() { return stack.depth; }

}  // namespace fake_cuda

// The driver's functions, as Halide's runtime and flashwright look them up.
extern "C" {

Result cuInit(unsigned) { return enter("cuInit"); }

Result cuDeviceGetCount(int *count) {
    *count = 1;
    return enter("cuDeviceGetCount");
}

Result cuDeviceGet(int *device, int) {
    *device = 0;
    return enter("cuDeviceGet");
}

Result cuDeviceGetAttribute(int *value, int, int) {
    *value = 8;
    return enter("cuDeviceGetAttribute");
}

Result cuDeviceGetName(char *name, int length, int) {
    std::strncpy(name, "fake", static_cast<std::size_t>(length));
    return enter("cuDeviceGetName");
}

Result cuDeviceTotalMem_v2(std::size_t *bytes, int) {
    *bytes = kMemory;
    return enter("cuDeviceTotalMem");
}

Result cuCtxCreate_v2(void **context, unsigned, int) {
    const Result result = enter("cuCtxCreate");
    if (result != kSuccess) return result;
    static std::atomic<std::uintptr_t> next{0x10000};
    *context = reinterpret_cast<void *>(next += 16);  // each has an address of its own
    return push(*context);
}

Result cuCtxDestroy_v2(void *context) {
    const Result result = enter("cuCtxDestroy");
    if (result == kSuccess && current() == context) --stack.depth;
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
    *context = current();
    return enter("cuCtxGetCurrent");
}

Result cuCtxPushCurrent_v2(void *context) {
    const Result result = enter("cuCtxPushCurrent");
    return result == kSuccess ? push(context) : result;
}

Result cuCtxPopCurrent_v2(void **context) {
    if (stack.depth == 0) return kInvalidContext;
    *context = current();
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
    *status = stream == fake_cuda::kCapturedStream ? 1 : 0;
    return result;
}

Result cuProfilerStop() { return enter("cuProfilerStop"); }
Result cuPointerGetAttribute(void *, int, std::uint64_t) { return enter("cuPointerGetAttribute"); }

Result cuModuleLoadDataEx(Module **module, const void *image, unsigned, int *, void **) {
    const Result result = enter_context({"cuModuleLoadDataEx", nullptr});
    if (result != kSuccess) return result;
    *module = new Module{static_cast<const char *>(image)};
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().modules.insert(*module);
    return kSuccess;
}

Result cuModuleLoadData(Module **module, const void *image) {
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

Result cuModuleUnload(Module *module) {
    const Result result = enter("cuModuleUnload");
    if (result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().modules.erase(module) == 0) return kInvalidHandle;
    delete module;
    return kSuccess;
}

Result cuModuleGetFunction(Function **function, Module *module, const char *name) {
    const Result result = enter_context({"cuModuleGetFunction", nullptr});
    if (result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (state().modules.count(module) == 0) return kInvalidHandle;
    state().functions.push_back(std::make_unique<Function>(Function{module, name, argument_bytes(module->ptx, name)}));
    *function = state().functions.back().get();
    return kSuccess;
}

Result cuMemAlloc_v2(std::uint64_t *address, std::size_t bytes) {
    const Result result = enter_context({"cuMemAlloc", nullptr, nullptr, bytes});
    return result == kSuccess ? allocate(address, bytes) : result;
}

Result cuMemFree_v2(std::uint64_t address) {
    const Result result = enter("cuMemFree");
    return result == kSuccess ? release(address) : result;
}

Result cuMemAllocAsync(std::uint64_t *address, std::size_t bytes, void *stream) {
    const Result result = enter_context({"cuMemAllocAsync", nullptr, stream, bytes});
    return result == kSuccess ? allocate(address, bytes) : result;
}

// It fails for what went wrong before, too; the memory is free all the same.
Result cuMemFreeAsync(std::uint64_t address, void *stream) {
    const Result result = enter_context({"cuMemFreeAsync", nullptr, stream}), released = release(address);
    return result == kSuccess ? released : result;
}

Result cuMemcpyHtoD_v2(std::uint64_t to, const void *from, std::size_t bytes) {
    const Result result = enter_context({"cuMemcpyHtoD", nullptr, nullptr, bytes});
    return result == kSuccess ? copy_to_device(to, from, bytes) : result;
}

Result cuMemcpyHtoDAsync_v2(std::uint64_t to, const void *from, std::size_t bytes, void *stream) {
    const Result result = enter_context({"cuMemcpyHtoDAsync", nullptr, stream, bytes});
    return result == kSuccess ? copy_to_device(to, from, bytes) : result;
}

Result cuMemcpyDtoH_v2(void *to, std::uint64_t from, std::size_t bytes) {
    const Result result = enter_context({"cuMemcpyDtoH", nullptr, nullptr, bytes});
    return result == kSuccess ? copy_to_host(to, from, bytes) : result;
}

Result cuMemcpyDtoHAsync_v2(void *to, std::uint64_t from, std::size_t bytes, void *stream) {
    const Result result = enter_context({"cuMemcpyDtoHAsync", nullptr, stream, bytes});
    return result == kSuccess ? copy_to_host(to, from, bytes) : result;
}

Result cuMemcpyDtoD_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes) {
    const Result result = enter_context({"cuMemcpyDtoD", nullptr, nullptr, bytes});
    return result == kSuccess ? copy_on_device(to, from, bytes) : result;
}

Result cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void *stream) {
    const Result result = enter_context({"cuMemcpyDtoDAsync", nullptr, stream, bytes});
    return result == kSuccess ? copy_on_device(to, from, bytes) : result;
}

Result cuMemcpy3D_v2(const void *) {
    enter("cuMemcpy3D");
    return kInvalidValue;  // for what no test needs
}

Result cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                      unsigned threads_z, unsigned, void *stream, void **parameters, void **) {
    fake_cuda::Call call{"cuLaunchKernel", nullptr, stream, 0, function->name};
    for (std::size_t n = 0; n < function->argument_bytes.size(); ++n) {
        call.args.push_back(0);
        std::memcpy(&call.args.back(), parameters[n], function->argument_bytes[n]);
    }
    const std::vector<std::uint64_t> args = call.args;
    const Result result = enter_context(std::move(call));
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
    if (result != kSuccess || s.interpreter == nullptr) return result;
    const Launch launch{
        function->module->ptx, {x, y, z}, {threads_x, threads_y, threads_z}, function->argument_bytes, args};
    return s.interpreter->run(launch, reinterpret_cast<std::uint64_t>(s.memory)) ? kSuccess : kInvalidValue;
}

Result cuGetErrorName(Result result, const char **name) {
    static const std::map<Result, const char *> names = {{kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                                         {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                         {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
                                                         {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                                         {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
    const auto found = names.find(result);
    if (found == names.end()) return kInvalidValue;
    *name = found->second;
    return kSuccess;
}

}  // extern "C"
