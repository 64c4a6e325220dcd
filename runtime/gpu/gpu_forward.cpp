// flashwright_gpu_forward: all heads of a call by one kernel, on padded copies of the tensors.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>
#include <cstring>

#include "device.h"
#include "device_problem.h"
#include "kernel_choice.h"
#include "status.h"
#include "tile_plan.h"

namespace flashwright {
namespace {

constexpr int kLseColumns = 4;  // after the channels of a kernel's result

class GpuForwardCall {
 public:
    GpuForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, void *context)
        : p_(problem),
          kernel_(kernel),
          context_(context),
          rows_(padded(p_.seqlen_q, kernel.tiles.block_q())),
          keys_(padded(p_.seqlen_k, kernel.tiles.block_k)) {}

    flashwright_status prepare() {
        const halide_type_t f32 = halide_type_of<float>(), i32 = halide_type_of<std::int32_t>();
        const std::int64_t channels = kernel_.tiles.head_dim, thread_blocks = rows_ / kernel_.tiles.block_q();
        flashwright_status status = q_.allocate("q", f32, {channels, rows_, p_.heads, p_.batch});
        if (!failed(status)) status = k_.allocate("k", f32, {channels, keys_, p_.heads_kv, p_.batch});
        if (!failed(status)) status = v_.allocate("v", f32, {channels, keys_, p_.heads_kv, p_.batch});
        if (!failed(status)) status = allocate_repeated(p_, p_.bias, f32, keys_, rows_, &bias_);
        if (!failed(status)) {
            status = allocate_repeated(p_, p_.mask, halide_type_of<std::uint8_t>(), keys_, rows_, &mask_);
        }
        if (!failed(status)) status = slopes_.allocate("alibi_slopes", f32, {p_.heads});
        for (DeviceTensor *tensor : {&lo_, &hi_, &diagonal_, &key_count_}) {
            if (!failed(status)) status = tensor->allocate("key_lengths", i32, {p_.batch});
        }
        if (!failed(status)) status = plan_.allocate("q", i32, {4, thread_blocks, p_.batch});
        if (!failed(status)) {
            status = result_.allocate("out", f32, {channels + kLseColumns, rows_, p_.heads, p_.batch});
        }
        if (failed(status)) return status;
        pack<float>(p_, p_.q, q_);
        pack<float>(p_, p_.k, k_, true);
        pack<float>(p_, p_.v, v_, true);
        pack_pairs(p_, bias_, mask_, keys_);
        for (std::int64_t h = 0; p_.alibi_slopes.given && h < p_.heads; ++h) {
            slopes_.data<float>()[h] = element<float>(p_.alibi_slopes, 0, h, 0, 0);
        }
        plan_blocks(thread_blocks);
        return status;
    }

    int run() {
        const int result =
            kernel_.forward(context_, q_.input(), k_.input(), v_.input(), bias_.input(), mask_.input(), slopes_.input(),
                            lo_.input(), hi_.input(), diagonal_.input(), key_count_.input(), plan_.input(),
                            static_cast<float>(p_.softmax_scale), static_cast<float>(p_.softcap), result_.output());
        return result != 0 ? result : result_.fetch();
    }

    // The host's result to the caller's outputs.
    void deliver() const {
        for (std::int64_t b = 0; b < p_.batch; ++b) {
            for (std::int64_t h = 0; h < p_.heads; ++h) {
                for (std::int64_t i = 0; i < p_.seqlen_q; ++i) deliver_row(b, h, i);
            }
        }
    }

 private:
    void plan_blocks(std::int64_t thread_blocks) {
        const bool test_all = !kernel_.finite_values;
        for (std::int64_t b = 0; b < p_.batch; ++b) {
            const KeyRange range = key_range(p_, b);
            lo_.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.lo_offset);
            hi_.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.hi_offset);
            diagonal_.data<std::int32_t>()[b] = cut_offset(p_.diagonal_of(b));
            key_count_.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.key_count);
            for (std::int64_t n = 0; n < thread_blocks; ++n) {
                const KeyPlan plan = plan_keys(range, n, kernel_.tiles, test_all);
                std::memcpy(plan_.data<std::int32_t>() + (b * thread_blocks + n) * 4, plan.boundaries,
                            sizeof plan.boundaries);
            }
        }
    }

    void deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
        const float *row =
            result_.data<float>() + b * result_.stride(3) + h * result_.stride(2) + i * result_.stride(1);
        char *out = p_.out.at(b, h, i);
        for (std::int64_t d = 0; d < p_.head_dim_v; ++d) {
            std::memcpy(out + d * p_.out.strides[kChannel] * p_.out.element_size, row + d, sizeof *row);
        }
        if (p_.lse.given) std::memcpy(p_.lse.at(b, h, i), row + kernel_.tiles.head_dim, sizeof *row);
    }

    const ForwardProblem &p_;
    const GpuKernel &kernel_;
    void *context_;
    std::int64_t rows_, keys_;
    DeviceTensor q_{context_}, k_{context_}, v_{context_}, bias_{context_}, mask_{context_}, slopes_{context_},
        lo_{context_}, hi_{context_}, diagonal_{context_}, key_count_{context_}, plan_{context_}, result_{context_};
};

flashwright_status run_forward(const ForwardProblem &problem, const char *backend, const char **name) {
    const std::int64_t channels = std::max(problem.head_dim, problem.head_dim_v);
    const GpuKernel *kernel =
        find_kernel(kGpuKernels, kGpuKernelCount, backend, channels, attention_request(Op::forward, problem).terms,
                    all_finite(problem, problem.v, true));
    if (kernel == nullptr) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "q: expected a call that a kernel of backend %s takes, got none",
                           backend);
    }
    DeviceCall device(backend);
    GpuForwardCall call(problem, *kernel, device.context());
    flashwright_status status = call.prepare();
    if (!failed(status)) status = device.status(call.run());
    if (failed(status)) return status;
    call.deliver();
    if (name != nullptr) *name = kernel->name;
    return status;
}

}  // namespace
}  // namespace flashwright

using namespace flashwright;

flashwright_status flashwright_gpu_available(const char *backend) {
    const halide_device_interface_t *device = nullptr;
    const flashwright_status status = find_backend(backend, &device);
    if (failed(status)) return status;
    DeviceCall call(backend);
    std::int32_t element = 0;
    halide_dimension_t dimension(0, 1, 1);
    halide_buffer_t buffer = {};
    buffer.host = reinterpret_cast<std::uint8_t *>(&element);
    buffer.type = halide_type_of<std::int32_t>();
    buffer.dimensions = 1;
    buffer.dim = &dimension;
    const int result = halide_device_malloc(call.context(), &buffer, device);
    if (result == halide_error_code_success) halide_device_free(call.context(), &buffer);
    flashwright_status answer = call.status(result);
    // Where there is no driver Halide says that memory could not be had.
    if (failed(answer)) answer.code = FLASHWRIGHT_DEVICE_ERROR;
    return answer;
}

flashwright_status flashwright_gpu_forward(const flashwright_forward_args *args, const char *backend,
                                           const char **kernel) {
    ForwardProblem problem;
    const halide_device_interface_t *device = nullptr;
    flashwright_status status = find_backend(backend, &device);
    if (!failed(status)) status = validate_forward(args, true, &problem);
    if (!failed(status)) status = check_supported(problem, backend, widest(kGpuKernels, kGpuKernelCount, backend));
    if (failed(status)) return status;
    if (problem.batch == 0 || problem.heads == 0 || problem.seqlen_q == 0) return ok_status();
    return run_forward(problem, backend, kernel);
}
