// What all calls on a device share: the checks that a backend supports them, the choice of a kernel, and padded copies
// of their tensors.
#pragma once

#include "flashwright/flashwright.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device_tensor.h"
#include "gpu_kernels.h"
#include "key_plan.h"
#include "runtime/src/head_matrix.h"
#include "runtime/src/validate.h"

namespace flashwright {

inline constexpr std::int64_t kMaxGrid = 65535;  // thread blocks along the second and third axis of a grid

inline std::int64_t padded(std::int64_t size, std::int64_t tile) {
    return (std::max<std::int64_t>(size, 1) + tile - 1) / tile * tile;
}

// Sets each row of a tensor to what `row(batch, head, row)` points to, or to zeros where that is null.
template <typename T, typename Row>
void set_rows(const StridedTensor &to, const Row &row) {
    for (std::int64_t b = 0; b < to.shape[kBatch]; ++b) {
        for (std::int64_t h = 0; h < to.shape[kHead]; ++h) {
            const HeadMatrix<T> matrix(to, b, h);
            for (std::int64_t i = 0; i < to.shape[kRow]; ++i) {
                const T *from = row(b, h, i);
                for (std::int64_t c = 0; c < matrix.channels; ++c) {
                    matrix.row(i)[c * matrix.channel_stride] = from == nullptr ? T{0} : from[c];
                }
            }
        }
    }
}

template <typename T>
T element(const StridedTensor &view, std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) {
    T value;
    std::memcpy(&value, view.at(batch, head, row) + channel * view.strides[kChannel] * view.element_size, sizeof value);
    return value;
}

// The first kernel of a table that takes the call. `head_dim` is the larger head dimension of its tensors.
template <typename Kernel>
const Kernel *find_kernel(const Kernel *kernels, int count, const char *backend, flashwright_dtype dtype,
                          std::int64_t head_dim, unsigned terms, bool assume_finite) {
    for (const Kernel *kernel = kernels; kernel != kernels + count; ++kernel) {
        if (std::strcmp(kernel->backend, backend) == 0 && kernel->dtype == dtype && kernel->head_dim >= head_dim &&
            (kernel->terms & terms) == terms && (assume_finite || !kernel->assume_finite)) {
            return kernel;
        }
    }
    return nullptr;
}

// What the kernels of a backend hold: of a dtype the most channels, 0 for none, and a name of every dtype.
struct KernelReach {
    std::int64_t channels = 0;
    char dtypes[32] = "";
};

flashwright_status check_supported(const ForwardProblem &problem, const char *backend, const KernelReach &reach);

void name_dtype(flashwright_dtype dtype, KernelReach *reach);

template <typename Kernel>
KernelReach reach_of(const Kernel *kernels, int count, const char *backend, flashwright_dtype dtype) {
    KernelReach reach;
    for (const Kernel *kernel = kernels; kernel != kernels + count; ++kernel) {
        if (std::strcmp(kernel->backend, backend) != 0) continue;
        name_dtype(kernel->dtype, &reach);
        if (kernel->dtype == dtype) reach.channels = std::max<std::int64_t>(reach.channels, kernel->head_dim);
    }
    return reach;
}

// Halide's type of an element on the device; f16 is stored as its bits.
inline halide_type_t storage_type(flashwright_dtype dtype) {
    return dtype == FLASHWRIGHT_F16 ? halide_type_of<std::uint16_t>() : halide_type_of<float>();
}

// Calls f with a value of the type that holds an element in memory.
template <typename F>
auto with_element_type(flashwright_dtype dtype, F f) {
    return dtype == FLASHWRIGHT_F16 ? f(std::uint16_t{}) : f(float{});
}

// Whether no element is NaN or infinite. With `keys_only`, rows past a batch entry's key length are left out.
bool all_finite(const ForwardProblem &problem, const StridedTensor &view, bool keys_only);

// Which keys are unmasked for the rows of the batch entry.
KeyRange key_range(const ForwardProblem &problem, std::int64_t batch);

// Fails for too many pairs: kernels with bias and mask index these as if they were not broadcast.
flashwright_status check_pairs(const ForwardProblem &problem, std::int64_t keys, std::int64_t rows);

// Describes bias and mask, [key, row, head, batch]. An axis that is broadcast is stored once. One that is not given has
// a single row for all.
flashwright_status describe_pairs(const ForwardProblem &problem, std::int64_t keys, std::int64_t rows,
                                  DeviceTensor *bias, DeviceTensor *mask);
// Allocates and fills host memory for those that are not given: a bias of 0, a mask that is true.
flashwright_status allocate_absent(const ForwardProblem &problem, std::int64_t keys, DeviceTensor *bias,
                                   DeviceTensor *mask);

// Copies the slope of each head if the call has slopes.
void pack_slopes(const ForwardProblem &problem, const DeviceTensor &slopes);

// Copies each row of the view to the tensor, starting at a channel. With `keys_only`, keys past a batch entry's length
// are left out.
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

// The same for tensors in the call's dtype.
inline void pack_elements(const ForwardProblem &problem, const StridedTensor &view, const DeviceTensor &to,
                          bool keys_only = false, std::int64_t channel = 0) {
    with_element_type(problem.dtype,
                      [&](auto element) { pack<decltype(element)>(problem, view, to, keys_only, channel); });
}

// Copies bias and mask if they are given.
void pack_pairs(const ForwardProblem &problem, const DeviceTensor &bias, const DeviceTensor &mask);

}  // namespace flashwright
