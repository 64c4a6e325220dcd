// The CUDA kernels that prepare tensors on the device and copy results to the caller's: one row each.
#pragma once

namespace flashwright {

struct GpuStreamKernel {
    const char *member;  // of GpuStreamKernels in runtime/gpu/gpu_kernels.h
    const char *type;    // of that member
    const char *name, *generator, *parameters;
};

inline constexpr GpuStreamKernel kCudaStreamKernels[] = {
    {"copy_f32", "Copy", "copy_cuda_f32", "copy_gpu", " from.type=float32"},
    {"copy_shared_rows_f32", "Copy", "copy_shared_rows_cuda_f32", "copy_gpu", " from.type=float32 shared_rows=true"},
    {"copy_f16", "Copy", "copy_cuda_f16", "copy_gpu", " from.type=uint16"},
    {"copy_bool", "Copy", "copy_cuda_bool", "copy_gpu", " from.type=uint8"},
    {"columns_of_rows", "Columns", "gradient_rows_cuda_f32", "gradient_rows_gpu", ""},
    {"columns_of_rows_f16", "Columns", "gradient_rows_cuda_f16", "gradient_rows_gpu", " dtype=float16"},
    {"columns_of_keys", "Columns", "gradient_keys_cuda_f32", "gradient_rows_gpu", " of_keys=true"},
    {"terms", "Terms", "gradient_terms_cuda_f32", "gradient_terms_gpu", ""},
    {"bias_gradient", "BiasGradient", "bias_gradient_cuda_f32", "bias_gradient_gpu", ""},
    {"bias_gradient_f16", "BiasGradient", "bias_gradient_cuda_f16", "bias_gradient_gpu", " dtype=float16"},
};

}  // namespace flashwright
