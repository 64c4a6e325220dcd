#include "device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/tensor.h"

extern "C" {
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxPopCurrent_v2(void **context);
int cuMemAlloc_v2(std::uint64_t *address, std::size_t bytes);
int cuMemFree_v2(std::uint64_t address);
int cuMemcpyHtoD_v2(std::uint64_t to, const void *from, std::size_t bytes);
int cuMemcpyDtoH_v2(void *to, std::uint64_t from, std::size_t bytes);
}

namespace flashwright::test {

Context::Context() { EXPECT_EQ(cuCtxCreate_v2(&handle_, 0, 0), 0); }

Context::~Context() {
    const flashwright_gpu_stream stream{"cuda", handle_, nullptr, 0};
    EXPECT_EQ(flashwright_gpu_release(&stream).code, FLASHWRIGHT_OK);
    void *popped = nullptr;
    EXPECT_EQ(cuCtxPopCurrent_v2(&popped), 0);
    EXPECT_EQ(popped, handle_);
}

DeviceMemory::~DeviceMemory() {
    for (const Moved &moved : moved_) EXPECT_EQ(cuMemFree_v2(moved.address), 0);
}

flashwright_tensor DeviceMemory::move(const flashwright_tensor &tensor) {
    std::int64_t below = 0, above = 0;
    for (int axis = 0; axis < tensor.rank; ++axis) {
        if (tensor.shape[axis] == 0) return tensor;
        const std::int64_t distance = tensor.shape[axis] > 1 ? (tensor.shape[axis] - 1) * tensor.strides[axis] : 0;
        (distance < 0 ? below : above) += distance;
    }
    if (tensor.data == nullptr) return tensor;
    const auto size = static_cast<std::int64_t>(size_of(tensor.dtype));
    Moved moved{static_cast<char *>(tensor.data) + below * size, 0,
                static_cast<std::size_t>((above - below + 1) * size)};
    EXPECT_EQ(cuMemAlloc_v2(&moved.address, moved.bytes), 0);
    EXPECT_EQ(cuMemcpyHtoD_v2(moved.address, moved.host, moved.bytes), 0);
    moved_.push_back(moved);
    flashwright_tensor result = tensor;
    result.data = reinterpret_cast<char *>(moved.address) - below * size;
    return result;
}

const flashwright_tensor *DeviceMemory::move(const flashwright_tensor *tensor) {
    if (tensor == nullptr) return nullptr;
    views_.push_back(std::make_unique<flashwright_tensor>(move(*tensor)));
    return views_.back().get();
}

void DeviceMemory::bring_back() const {
    for (const Moved &moved : moved_) EXPECT_EQ(cuMemcpyDtoH_v2(moved.host, moved.address, moved.bytes), 0);
}

std::size_t DeviceMemory::largest() const {
    std::size_t bytes = 0;
    for (const Moved &moved : moved_) bytes = std::max(bytes, moved.bytes);
    return bytes;
}

}  // namespace flashwright::test
