#include "device_memory.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/tensor.h"

namespace flashwright::test {
namespace {

// Calls a function of the driver, which must succeed. Parameters are as the driver declares them.
template <typename... Parameters>
void drive(const char *name, Parameters... parameters) {
    static void *const library = dlopen("libcuda.so.1", RTLD_LAZY);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto function = reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
    ASSERT_NE(function, nullptr) << name;
    EXPECT_EQ(function(parameters...), 0) << name;
}

using Address = std::uint64_t;  // CUdeviceptr

}  // namespace

Context::Context() {
    drive<unsigned>("cuInit", 0);
    drive<void **, unsigned, int>("cuCtxCreate_v2", &handle_, 0, 0);
}

Context::~Context() {
    const flashwright_gpu_stream stream{"cuda", handle_, nullptr, 0};
    EXPECT_EQ(flashwright_gpu_release(&stream).code, FLASHWRIGHT_OK);
    drive<void *>("cuCtxDestroy_v2", handle_);  // which is current no more
}

Stream::Stream() { drive<void **, unsigned>("cuStreamCreate", &handle_, 1); }  // waits for no other stream

Stream::~Stream() { drive<void *>("cuStreamDestroy_v2", handle_); }

void Stream::wait() const { drive<void *>("cuStreamSynchronize", handle_); }

DeviceMemory::~DeviceMemory() {
    for (const Moved &moved : moved_) drive<Address>("cuMemFree_v2", moved.address);
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
    drive<Address *, std::size_t>("cuMemAlloc_v2", &moved.address, moved.bytes);
    drive<Address, const void *, std::size_t>("cuMemcpyHtoD_v2", moved.address, moved.host, moved.bytes);
    drive<>("cuCtxSynchronize");  // streams that do not wait for the default one may use it
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

flashwright_forward_args DeviceMemory::arguments(Problem &problem) {
    flashwright_forward_args args = problem.args();
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse}) {
        *tensor = move(*tensor);
    }
    args.score.bias = move(args.score.bias);
    args.score.mask = move(args.score.mask);
    return args;
}

flashwright_backward_args DeviceMemory::arguments(GradientProblem &problem) {
    flashwright_backward_args args = problem.args();
    for (flashwright_tensor *tensor : {&args.q, &args.k, &args.v, &args.out, &args.softmax_lse, &args.dout, &args.dq,
                                       &args.dk, &args.dv, &args.dbias}) {
        *tensor = move(*tensor);
    }
    args.score.bias = move(args.score.bias);
    args.score.mask = move(args.score.mask);
    return args;
}

void DeviceMemory::bring_back() const {
    for (const Moved &moved : moved_) {
        drive<void *, Address, std::size_t>("cuMemcpyDtoH_v2", moved.host, moved.address, moved.bytes);
    }
}

std::size_t DeviceMemory::largest() const {
    std::size_t bytes = 0;
    for (const Moved &moved : moved_) bytes = std::max(bytes, moved.bytes);
    return bytes;
}

}  // namespace flashwright::test
