// flashwright_gpu_forward: all heads of a call by one kernel, on padded copies of the tensors.
#include "flashwright/flashwright_gpu.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include "device.h"
#include "device_tensor.h"
#include "gpu_kernels.h"
#include "head_matrix.h"
#include "kernel_choice.h"
#include "key_plan.h"
#include "status.h"
#include "tile_plan.h"
#include "validate.h"

namespace flashwright {
namespace {

constexpr std::int64_t kMaxGrid = 65535;  // blocks of a grid along an axis but the first
constexpr int kLseColumns = 4;            // after the channels of a kernel's result

std::int64_t padded(std::int64_t size, std::int64_t tile) {
    return (std::max<std::int64_t>(size, 1) + tile - 1) / tile * tile;
}

template <typename T>
T element(const StridedTensor &view, std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t channel) {
    T value;
    std::memcpy(&value, view.at(batch, head, row) + channel * view.strides[kChannel] * view.element_size, sizeof value);
    return value;
}

// The first of the table that takes the call, whose tensors `head_dim` channels hold.
const GpuKernel *find_kernel(const char *backend, std::int64_t head_dim, unsigned terms, bool finite_values) {
    for (int i = 0; i < kGpuKernelCount; ++i) {
        const GpuKernel &kernel = kGpuKernels[i];
        if (std::strcmp(kernel.backend, backend) == 0 && kernel.tiles.head_dim >= head_dim &&
            (kernel.terms & terms) == terms && (finite_values || !kernel.finite_values)) {
            return &kernel;
        }
    }
    return nullptr;
}

std::int64_t widest(const char *backend) {
    std::int64_t channels = 0;
    for (int i = 0; i < kGpuKernelCount; ++i) {
        if (std::strcmp(kGpuKernels[i].backend, backend) == 0) {
            channels = std::max<std::int64_t>(channels, kGpuKernels[i].tiles.head_dim);
        }
    }
    return channels;
}

flashwright_status check_supported(const ForwardProblem &p, const char *backend) {
    if (p.dtype != FLASHWRIGHT_F32) {
        return make_status(FLASHWRIGHT_UNSUPPORTED, "q: expected dtype f32, all that backend %s has, got %s", backend,
                           dtype_name(p.dtype));
    }
    const std::int64_t most = widest(backend);
    for (const StridedTensor *view : {&p.q, &p.v}) {
        if (view->shape[kChannel] > most) {
            return make_status(FLASHWRIGHT_UNSUPPORTED,
                               "%s: expected head dimensions of at most %" PRId64 " on backend %s, got %" PRId64,
                               view->name, most, backend, view->shape[kChannel]);
        }
    }
    if (p.batch > kMaxGrid || p.heads > kMaxGrid) {
        return make_status(FLASHWRIGHT_UNSUPPORTED,
                           "q: expected at most %" PRId64 " batch entries and heads on backend %s, got %" PRId64
                           " and %" PRId64,
                           kMaxGrid, backend, p.batch, p.heads);
    }
    return ok_status();
}

// Whether no key that exists has a value of NaN or infinity.
bool values_are_finite(const ForwardProblem &p) {
    for (std::int64_t b = 0; b < p.batch; ++b) {
        for (std::int64_t h = 0; h < p.heads_kv; ++h) {
            if (!all_finite(HeadMatrix<float>(p.v, b, h), 0, p.key_count(b))) return false;
        }
    }
    return true;
}

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
        if (!failed(status)) status = allocate_broadcast(p_.bias, f32, &bias_);
        if (!failed(status)) status = allocate_broadcast(p_.mask, halide_type_of<std::uint8_t>(), &mask_);
        if (!failed(status)) status = slopes_.allocate("alibi_slopes", f32, {p_.heads});
        for (DeviceTensor *tensor : {&lo_, &hi_, &diagonal_, &key_count_}) {
            if (!failed(status)) status = tensor->allocate("key_lengths", i32, {p_.batch});
        }
        if (!failed(status)) status = plan_.allocate("q", i32, {4, thread_blocks, p_.batch});
        if (!failed(status)) {
            status = result_.allocate("out", f32, {channels + kLseColumns, rows_, p_.heads, p_.batch});
        }
        if (failed(status)) return status;
        pack<float>(p_.q, q_, p_.seqlen_q);
        pack<float>(p_.k, k_, p_.seqlen_k, true);
        pack<float>(p_.v, v_, p_.seqlen_k, true);
        if (p_.bias.given) pack<float>(p_.bias, bias_, p_.bias.shape[kRow]);
        if (p_.mask.given) {
            pack<std::uint8_t>(p_.mask, mask_, p_.mask.shape[kRow]);
        } else {
            std::fill_n(mask_.data<std::uint8_t>(), keys_, std::uint8_t{1});
        }
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
    // Bias and mask hold the axes that they repeat once; one that is not given is one row for all.
    flashwright_status allocate_broadcast(const StridedTensor &view, halide_type_t type, DeviceTensor *tensor) {
        unsigned repeated = 0;
        for (const auto &[axis, bit] : {std::pair{kRow, 1U}, {kHead, 2U}, {kBatch, 3U}}) {
            if (!view.given || view.shape[axis] == 1) repeated |= 1U << bit;
        }
        return tensor->allocate(view.given ? view.name : "bias", type, {keys_, rows_, p_.heads, p_.batch}, repeated);
    }

    // Copies what the view has to the front of each row. `keys_only`: no keys past a batch entry's length.
    template <typename T>
    void pack(const StridedTensor &view, const DeviceTensor &to, std::int64_t rows, bool keys_only = false) {
        for (std::int64_t b = 0; b < view.shape[kBatch]; ++b) {
            const std::int64_t count = keys_only ? p_.key_count(b) : rows;
            for (std::int64_t h = 0; h < view.shape[kHead]; ++h) {
                for (std::int64_t i = 0; i < count; ++i) {
                    T *row = to.data<T>() + b * to.stride(3) + h * to.stride(2) + i * to.stride(1);
                    for (std::int64_t d = 0; d < view.shape[kChannel]; ++d) row[d] = element<T>(view, b, h, i, d);
                }
            }
        }
    }

    void plan_blocks(std::int64_t thread_blocks) {
        const bool test_all = !kernel_.finite_values;
        for (std::int64_t b = 0; b < p_.batch; ++b) {
            const std::int64_t diagonal = p_.diagonal_of(b);
            KeyRange range{-kFarOffset, kFarOffset, p_.key_count(b)};
            if (p_.window_left >= 0) range.lo_offset = cut_offset(saturating_subtract(diagonal, p_.window_left));
            if (p_.window_right >= 0) range.hi_offset = cut_offset(saturating_add(diagonal, p_.window_right));
            lo_.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.lo_offset);
            hi_.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.hi_offset);
            diagonal_.data<std::int32_t>()[b] = cut_offset(diagonal);
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
        find_kernel(backend, channels, attention_request(Op::forward, problem).terms, values_are_finite(problem));
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
    if (!failed(status)) status = check_supported(problem, backend);
    if (failed(status)) return status;
    if (problem.batch == 0 || problem.heads == 0 || problem.seqlen_q == 0) return ok_status();
    return run_forward(problem, backend, kernel);
}
