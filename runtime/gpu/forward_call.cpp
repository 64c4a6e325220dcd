#include "forward_call.h"

#include <cstring>

#include "status.h"
#include "tile_plan.h"

namespace flashwright {
GpuForwardCall::GpuForwardCall(const ForwardProblem &problem, const GpuKernel &kernel, void *context)
    : p_(problem),
      kernel_(kernel),
      context_(context),
      rows_(padded(p_.seqlen_q, kernel.tiles.block_q())),
      keys_(padded(p_.seqlen_k, kernel.tiles.block_k)) {}

flashwright_status GpuForwardCall::prepare() {
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
        status = result_.allocate("out", f32, {kernel_.tiles.result_columns(), rows_, p_.heads, p_.batch});
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

int GpuForwardCall::launch() {
    return kernel_.forward(context_, q_.input(), k_.input(), v_.input(), bias_.input(), mask_.input(), slopes_.input(),
                           lo_.input(), hi_.input(), diagonal_.input(), key_count_.input(), plan_.input(),
                           static_cast<float>(p_.softmax_scale), static_cast<float>(p_.softcap), result_.output());
}

void GpuForwardCall::deliver() const {
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        for (std::int64_t h = 0; h < p_.heads; ++h) {
            for (std::int64_t i = 0; i < p_.seqlen_q; ++i) deliver_row(b, h, i);
        }
    }
}

void GpuForwardCall::plan_blocks(std::int64_t thread_blocks) {
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

void GpuForwardCall::deliver_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const float *row = result_.data<float>() + b * result_.stride(3) + h * result_.stride(2) + i * result_.stride(1);
    char *out = p_.out.at(b, h, i);
    for (int d = 0; d < static_cast<int>(p_.head_dim_v); ++d) {
        std::memcpy(out + d * p_.out.strides[kChannel] * p_.out.element_size, row + kernel_.tiles.result_column(d),
                    sizeof *row);
    }
    if (p_.lse.given) std::memcpy(p_.lse.at(b, h, i), row + kernel_.tiles.own_channels(), sizeof *row);
}

}  // namespace flashwright
