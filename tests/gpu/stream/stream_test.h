// What the tests of calls on streams share.
#pragma once

#include "tests/gpu/device_memory.h"
#include "tests/gpu/fake_cuda/fake_cuda.h"
#include "tests/support/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace flashwright::test {

constexpr int kOutOfMemory = 2, kIllegalAddress = 700;  // of CUDA
// No driver looks at it.
inline void *const kStream = reinterpret_cast<void *>(0x5000);

inline std::vector<fake_cuda::Call> calls_of(const std::string &function) {
    std::vector<fake_cuda::Call> found;
    for (const fake_cuda::Call &call : fake_cuda::calls()) {
        if (call.function == function) found.push_back(call);
    }
    return found;
}

inline flashwright_gpu_stream on(const Context &context, void *stream = kStream, bool finite = true) {
    return {"cuda", context.handle(), stream, finite ? 1 : 0};
}

inline bool has_argument(const fake_cuda::Call &launch, const void *address) {
    return std::count(launch.args.begin(), launch.args.end(), reinterpret_cast<std::uint64_t>(address)) == 1;
}

// By the message that names all backends, as asking for one loads its driver.
inline bool is_built(const char *backend) {
    return std::strstr(flashwright_gpu_available("none").message, backend) != nullptr;
}

// What is said of OpenCL, which takes no streams, and may not be built.
inline std::vector<std::string> refusal_of_opencl() {
    return {"backend", is_built("opencl") ? "device memory" : "is built", "cuda", "got 'opencl'"};
}

// Each test begins and ends without anything on the device.
class StreamTest : public ::testing::Test {
 protected:
    StreamTest() { fake_cuda::reset(); }
    ~StreamTest() override {
        fake_cuda::reset();
        EXPECT_EQ(fake_cuda::living_allocations(), 0U);
    }
};

}  // namespace flashwright::test
