// What the tests of GPU kernels share. The backend is what FLASHWRIGHT_TEST_BACKEND names, or the first that is built.
#pragma once

#include "flashwright/flashwright_gpu.h"
#include "runtime/gpu/gpu_kernels.h"
#include "tests/support/problem.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace flashwright::test {

inline const char *backend() {
    const char *name = std::getenv("FLASHWRIGHT_TEST_BACKEND");
    return name != nullptr ? name : kGpuDevices[0].backend;
}

// Of the backend's kernels in a table.
template <typename Kernel>
std::set<int> head_dims(const Kernel *kernels, int count, flashwright_dtype dtype = FLASHWRIGHT_F32) {
    std::set<int> dims;
    for (int i = 0; i < count; ++i) {
        const bool of_backend = std::string(kernels[i].backend) == backend();
        if (of_backend && kernels[i].dtype == dtype) dims.insert(kernels[i].head_dim);
    }
    return dims;
}

// All of the backend's kernels of the dtype are among those that ran, and no others.
template <typename Kernel>
void expect_all_ran(const Kernel *kernels, int count, const std::set<std::string> &ran,
                    flashwright_dtype dtype = FLASHWRIGHT_F32) {
    for (int i = 0; i < count; ++i) {
        const bool expected = std::string(kernels[i].backend) == backend() && kernels[i].dtype == dtype;
        EXPECT_EQ(ran.count(kernels[i].name) == 1, expected) << kernels[i].name;
    }
}

// Vulkan has kernels for some calls alone, and says so of others.
inline bool refused(const flashwright_status &status) {
    return std::string(backend()) == "vulkan" && status.code == FLASHWRIGHT_UNSUPPORTED &&
           std::strstr(status.message, "expected a call that a kernel of backend vulkan takes") != nullptr;
}

inline flashwright_status run_on_gpu(Problem &problem, const char **kernel = nullptr) {
    problem.poison_outputs();
    const flashwright_forward_args args = problem.args();
    return flashwright_gpu_forward(&args, backend(), kernel);
}

class GpuTest : public ::testing::Test {
 protected:
    void SetUp() override {
        const flashwright_status status = flashwright_gpu_available(backend());
        if (status.code == FLASHWRIGHT_OK) return;
        ASSERT_EQ(status.code, FLASHWRIGHT_DEVICE_ERROR) << status.message;
        GTEST_SKIP() << "no device: " << status.message;
    }
};

}  // namespace flashwright::test
