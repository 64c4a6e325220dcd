#include "backward_tensors.h"

#include <algorithm>
#include <cinttypes>
#include <numeric>

#include "runtime/src/status.h"

namespace flashwright {

GpuBackwardTensors::GpuBackwardTensors(const BackwardProblem &problem, const GpuBackwardKernel &kernel, void *context)
    : query_rows(context),
      key_rows(context),
      bias(context),
      mask(context),
      slope(context),
      diagonal_key(context),
      bias_offset(context),
      mask_offset(context),
      passes{Pass(context), Pass(context), Pass(context), Pass(context)},
      p_(problem.forward),
      kernel_(kernel),
      context_(context) {
    for (int n = 0; n < kernel.pass_count; ++n) {
        if (kernel.passes[n].dbias && !problem.dbias.given) continue;
        passes[pass_count++].pass = &kernel.passes[n];
    }
    // The length of a side is a multiple of the tiles of the passes that own it, and of the blocks of those that own
    // the other side.
    std::int64_t row_tile = 1, key_tile = 1;
    for (int n = 0; n < pass_count; ++n) {
        const GpuBackwardKernel::Pass &pass = *passes[n].pass;
        std::int64_t &streamed = pass.owns_keys ? rows_ : keys_, &own_tile = pass.owns_keys ? key_tile : row_tile;
        streamed = std::max(streamed, padded(pass.owns_keys ? p_.seqlen_q : p_.seqlen_k, pass.tiles.block_k));
        own_tile = std::lcm(own_tile, pass.tiles.block_q());
        if (pass.dbias) key_tile = std::lcm(key_tile, pass.tiles.block_k);  // it writes whole blocks of keys
    }
    rows_ = padded(rows_, row_tile);
    keys_ = padded(keys_, key_tile);
}

flashwright_status GpuBackwardTensors::prepare() {
    flashwright_status status = describe();
    if (!failed(status)) status = describe_passes();
    if (!failed(status)) status = allocate_absent(p_, keys_, &bias, &mask);
    for (int n = 0; n < pass_count; ++n) {
        if (!failed(status)) status = passes[n].plan.allocate();
        if (!failed(status)) fill_plan(*passes[n].pass, passes[n].plan);
    }
    return status;
}

void GpuBackwardTensors::merge() {
    for (DeviceTensor *tensor : {&query_rows, &key_rows}) tensor->merge_axes(1);
    for (DeviceTensor *tensor : {&bias, &mask}) tensor->merge_axes(0);
}

int GpuBackwardTensors::launch() {
    for (int n = 0; n < pass_count; ++n) {
        const GpuBackwardKernel::Pass &pass = *passes[n].pass;
        const std::int64_t heads = pass.owns_keys ? group() : 1, head_rows = pass.owns_keys ? rows_ : keys_;
        const int result =
            pass.run(context_, query_rows.input(), key_rows.input(), slope.input(), diagonal_key.input(), bias.input(),
                     mask.input(), bias_offset.input(), mask_offset.input(), passes[n].plan.input(),
                     static_cast<std::int32_t>(heads), static_cast<std::int32_t>(head_rows),
                     static_cast<float>(p_.softmax_scale), static_cast<float>(p_.softcap()), passes[n].result.output());
        if (result != 0) return result;
    }
    return 0;
}

flashwright_status GpuBackwardTensors::describe() {
    const halide_type_t f32 = halide_type_of<float>(), i32 = halide_type_of<std::int32_t>();
    const halide_type_t stored = storage_type(p_.dtype);
    const std::int64_t columns = 2 * std::int64_t{kernel_.head_dim} + kColumns * f32.bytes() / stored.bytes();
    const std::int64_t all_rows = rows_ * p_.heads * p_.batch;
    flashwright_status status = query_rows.describe("q, dout", stored, {columns, rows_, p_.heads, p_.batch});
    if (!failed(status)) status = key_rows.describe("k, v", stored, {columns, keys_, p_.heads_kv, p_.batch});
    if (!failed(status)) status = describe_pairs(p_, keys_, rows_, &bias, &mask);
    if (!failed(status)) status = slope.describe("alibi_slopes", f32, {all_rows});
    for (DeviceTensor *tensor : {&diagonal_key, &bias_offset, &mask_offset}) {
        if (!failed(status)) status = tensor->describe("q", i32, {all_rows});
    }
    return status;
}

flashwright_status GpuBackwardTensors::describe_passes() {
    const halide_type_t f32 = halide_type_of<float>(), i32 = halide_type_of<std::int32_t>();
    flashwright_status status = ok_status();
    for (int n = 0; n < pass_count; ++n) {
        const GpuBackwardKernel::Pass &pass = *passes[n].pass;
        const std::int64_t own = pass.owns_keys ? keys_ : rows_ * group(), groups = p_.heads_kv * p_.batch;
        const std::int64_t channels = pass.dbias ? keys_ : kernel_.head_dim, gradients = pass.dk && pass.dv ? 2 : 1;
        const char *name = pass.owns_keys ? "dk" : pass.dbias ? "dbias" : "dq";
        if (pass.dbias && own / pass.tiles.block_q() > kMaxGrid) {
            return make_status(FLASHWRIGHT_UNSUPPORTED,
                               "dbias: expected at most %" PRId64
                               " tiles of %d query rows in the query heads of one key head, got %" PRId64,
                               kMaxGrid, pass.tiles.block_q(), own / pass.tiles.block_q());
        }
        if (!failed(status)) status = passes[n].plan.describe("q", i32, {2, own / pass.tiles.block_q(), groups});
        if (!failed(status)) {
            const halide_type_t type = pass.dbias ? f32 : storage_type(p_.dtype);
            status = passes[n].result.describe(name, type, {channels, gradients, own, groups});
        }
    }
    return status;
}

// Which blocks of the other side each thread block meets.
void GpuBackwardTensors::fill_plan(const GpuBackwardKernel::Pass &pass, const DeviceTensor &plan) const {
    const std::int64_t thread_blocks = (pass.owns_keys ? keys_ : rows_) / pass.tiles.block_q();
    const std::int64_t heads = pass.owns_keys ? 1 : group();
    auto *boundaries = plan.data<std::int32_t>();
    for (std::int64_t b = 0; b < p_.batch; ++b) {
        const KeyRange keys = key_range(p_, b);
        const KeyRange rows{-keys.hi_offset, -keys.lo_offset, p_.seqlen_q};
        for (std::int64_t n = 0; n < p_.heads_kv * heads * thread_blocks; ++n, boundaries += 2) {
            const std::int64_t block = n % thread_blocks;
            const bool past_the_keys = pass.owns_keys && block * pass.tiles.block_q() >= keys.key_count;
            if (past_the_keys) continue;  // the plan stays 0: no blocks
            const KeyPlan met = plan_keys(pass.owns_keys ? rows : keys, block, pass.tiles, true);
            boundaries[0] = met.boundaries[0];
            boundaries[1] = met.boundaries[3];
        }
    }
}

}  // namespace flashwright
