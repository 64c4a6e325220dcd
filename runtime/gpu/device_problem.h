// What calls on a device have in common: which of them are taken, by which kernel, and the padded copies of their
// tensors.
#pragma once

#include "flashwright/flashwright.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device_tensor.h"
#include "gpu_kernels.h"
#include "key_plan.h"
#include "validate.h"

namespace flashwright {

inline constexpr std::int64_t kMaxGrid = 65535;  // blocks of a grid along an axis but the first

inline std::int64_t padded(std::int64_t size, std::int64_t tile) {
    return (std::max<std::int64_t>(size, 1) + tile - 1) / tile * tile;
}

template <typename T>
T element(const StridedTensor &view, std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) {
    T value;
    std::memcpy(&value, view.at(batch, head, row) + channel * view.strides[kChannel] * view.element_size, sizeof value);
    return value;
}

// The first of a table that takes the call, whose tensors `head_dim` channels hold.
template <typename Kernel>
const Kernel *find_kernel(const Kernel *kernels, int count, const char *backend, std::int64_t head_dim, unsigned terms,
                          bool finite_values) {
    for (const Kernel *kernel = kernels; kernel != kernels + count; ++kernel) {
        if (std::strcmp(kernel->backend, backend) == 0 && kernel->head_dim >= head_dim &&
            (kernel->terms & terms) == terms && (finite_values || !kernel->finite_values)) {
            return kernel;
        }
    }
    return nullptr;
}

// `widest`: the channels that the backend's kernels hold.
flashwright_status check_supported(const ForwardProblem &problem, const char *backend, std::int64_t widest);

// The most channels of any kernel of the backend.
template <typename Kernel>
std::int64_t widest(const Kernel *kernels, int count, const char *backend) {
    std::int64_t channels = 0;
    for (const Kernel *kernel = kernels; kernel != kernels + count; ++kernel) {
        if (std::strcmp(kernel->backend, backend) == 0) channels = std::max<std::int64_t>(channels, kernel->head_dim);
    }
    return channels;
}

// Whether no element of the rows that exist is NaN or infinite; `keys_only`: up to a batch entry's length.
bool all_finite(const ForwardProblem &problem, const StridedTensor &view, bool keys_only);

// Which keys a row of the batch entry sees.
KeyRange key_range(const ForwardProblem &problem, std::int64_t batch);

// Bias and mask, [key, row, head, batch], which hold the axes that they repeat once; one that is not given is one row
// for all.
flashwright_status describe_pairs(const ForwardProblem &problem, std::int64_t keys, std::int64_t rows,
                                  DeviceTensor *bias, DeviceTensor *mask);
// Host memory for those that are not given, with what stands for them.
flashwright_status allocate_absent(const ForwardProblem &problem, std::int64_t keys, DeviceTensor *bias,
                                   DeviceTensor *mask);

// Copies what the view has into each row, from a channel on. `keys_only`: no keys past a batch entry's length.
template <typename T>
void pack(const ForwardProblem &problem, const StridedTensor &view, const DeviceTensor &to, bool keys_only = false,
          std::int64_t channel = 0) {
    for (std::int64_t b = 0; b < view.shape[kBatch]; ++b) {
        const std::int64_t count = keys_only ? problem.key_count(b) : view.shape[kRow];
        for (std::int64_t h = 0; h < view.shape[kHead]; ++h) {
            for (std::int64_t i = 0; i < count; ++i) {
                T *row = to.data<T>() + b * to.stride(3) + h * to.stride(2) + i * to.stride(1) + channel;
                for (std::int64_t d = 0; d < view.shape[kChannel]; ++d) row[d] = element<T>(view, b, h, i, d);
            }
        }
    }
}

// Those of bias and mask that are given.
void pack_pairs(const ForwardProblem &problem, const DeviceTensor &bias, const DeviceTensor &mask);

}  // namespace flashwright
