// Device memory of the fake driver, and copies of it.
#include <cstring>

#include "driver.h"

namespace fake_cuda {
namespace {

bool in_device_memory(std::uint64_t address, std::size_t bytes) {
    State &s = state();
    const std::lock_guard<std::mutex> lock(s.mutex);
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

}  // namespace

std::size_t living_allocations() {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().allocations.size();
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

Result cuPointerGetAttribute(void *, int, std::uint64_t) { return enter("cuPointerGetAttribute"); }

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

}  // extern "C"
