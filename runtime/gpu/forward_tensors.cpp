#include "forward_tensors.h"

#include <cstring>

#include "runtime/src/status.h"
#include "runtime/src/tile_plan.h"

namespace flashwright {

GpuForwardTensors::GpuForwardTensors(const ForwardProblem &problem, const GpuKernel &kernel, void *context)
    : q(context),
      k(context),
      v(context),
      bias(context),
      mask(context),
      result(context),
      slopes(context),
      lo_offset(context),
      hi_offset(context),
      diagonal(context),
      key_count(context),
      plan(context),
      p_(problem),
      kernel_(kernel),
      context_(context),
      rows_(padded(p_.seqlen_q, kernel.tiles.block_q())),
      keys_(padded(p_.seqlen_k, kernel.tiles.block_k)),
      pair_rows_((kernel.terms & kTestEveryKey) != 0 ? rows_ : 1),
      pair_keys_((kernel.terms & kTestEveryKey) != 0 ? keys_ : 1) {}

flashwright_status GpuForwardTensors::prepare() {
    flashwright_status status = describe();
    for (DeviceTensor *tensor : {&slopes, &lo_offset, &hi_offset, &diagonal, &key_count, &plan}) {
        if (!failed(status)) status = tensor->allocate();
    }
    if (!failed(status)) status = allocate_absent(p_, pair_keys_, &bias, &mask);
    if (failed(status)) return status;
    pack_slopes(p_, slopes);
    fill_plan();
    return status;
}

int GpuForwardTensors::launch() {
    return kernel_.forward(context_, q.input(), k.input(), v.input(), bias.input(), mask.input(), slopes.input(),
                           lo_offset.input(), hi_offset.input(), diagonal.input(), key_count.input(), plan.input(),
                           static_cast<float>(p_.softmax_scale), static_cast<float>(p_.softcap()), result.output());
}

flashwright_status GpuForwardTensors::describe() {
    const halide_type_t f32 = halide_type_of<float>(), i32 = halide_type_of<std::int32_t>();
    const halide_type_t stored = storage_type(p_.dtype);
    const std::int64_t channels = kernel_.tiles.head_dim, thread_blocks = rows_ / kernel_.tiles.block_q();
    flashwright_status status = q.describe("q", stored, {channels, rows_, p_.heads, p_.batch});
    if (!failed(status)) status = k.describe("k", stored, {channels, keys_, p_.heads_kv, p_.batch});
    if (!failed(status)) status = v.describe("v", stored, {channels, keys_, p_.heads_kv, p_.batch});
    if (!failed(status)) status = check_pairs(p_, pair_keys_, pair_rows_);
    if (!failed(status)) status = describe_pairs(p_, pair_keys_, pair_rows_, &bias, &mask);
    if (!failed(status)) status = slopes.describe("alibi_slopes", f32, {p_.heads});
    for (DeviceTensor *tensor : {&lo_offset, &hi_offset, &diagonal, &key_count}) {
        if (!failed(status)) status = tensor->describe("key_lengths", i32, {p_.batch});
    }
    if (!failed(status)) status = plan.describe("q", i32, {4, thread_blocks, p_.batch});
    if (!failed(status)) {
        status =
            result.describe("out", stored, {kernel_.tiles.result_columns(stored.bytes()), rows_, p_.heads, p_.batch});
    }
    return status;
}

void GpuForwardTensors::fill_plan() {
    const bool test_all = !kernel_.assume_finite;
    const std::int64_t thread_blocks = rows_ / kernel_.tiles.block_q();
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        const KeyRange range = key_range(p_, b);
        lo_offset.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.lo_offset);
        hi_offset.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.hi_offset);
        diagonal.data<std::int32_t>()[b] = cut_offset(p_.diagonal_of(b));
        key_count.data<std::int32_t>()[b] = static_cast<std::int32_t>(range.key_count);
        for (std::int64_t n = 0; n < thread_blocks; ++n) {
            const KeyPlan blocks = plan_keys(range, n, kernel_.tiles, test_all);
            std::memcpy(plan.data<std::int32_t>() + (b * thread_blocks + n) * 4, blocks.boundaries,
                        sizeof blocks.boundaries);
        }
    }
}

}  // namespace flashwright
