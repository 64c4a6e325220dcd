#include "gpu_backward.h"

#include "gpu_forward.h"

#include <algorithm>

namespace flashwright {

using namespace Halide;

namespace {

constexpr int kVector = 4;  // elements of f32 of the widest load

// How many of `tile` channels one load brings.
int lanes_of(const Type &stored, int tile) { return std::min(gpu_load_lanes(stored), tile); }

// Keeps the values of one thread in registers: every loop that indexes them is unrolled.
void keep_in_registers(Func f, const LoopLevel &level, const std::vector<Var> &unrolled) {
    f.compute_at(level).store_in(MemoryType::Register).never_partition_all();
    for (int n = 0; n < f.num_update_definitions(); n++) {
        f.update(n).never_partition_all();
    }
    for (const Var &v : unrolled) {
        f.unroll(v);
        for (int n = 0; n < f.num_update_definitions(); n++) {
            f.update(n).unroll(v);
        }
    }
}

// Which variables of a GradientTile are the thread's and which the block's.
struct Sides {
    Var own, other;
};

// A product over channels for every pair; `streamed` is its operand of the other side.
void schedule_pairs_product(Func product, const BackwardPass &pass, const RVar &d, const Sides &sides,
                            const GpuTiles &tiles) {
    RVar d_tile("d_tile"), d_in("d_in");
    product.update().split(d, d_tile, d_in, tiles.tile_d).reorder(sides.own, d_in, sides.other, d_tile).unroll(d_in);
    Func streamed = pass.owns_keys ? pass.queries : pass.keys;
    Func loaded = streamed.in(product);
    const Var channel = loaded.args()[0];
    loaded.compute_at(product, sides.other).store_in(MemoryType::Register).bound_extent(channel, tiles.tile_d);
    loaded.vectorize(channel, lanes_of(pass.stored, tiles.tile_d)).unroll(channel);
}

// A product over the rows of a block.
void schedule_sum(Func product, const LoopLevel &level, const RVar &over, const Sides &sides, int lanes,
                  const GpuTiles &tiles) {
    const Var channel = product.args()[0], instance = product.args()[2];
    keep_in_registers(product, level, {sides.own});
    product.bound_extent(channel, tiles.tile_v).bound_extent(sides.own, tiles.rows).bound_extent(instance, 1);
    product.vectorize(channel, lanes).unroll(channel);
    product.update().reorder(sides.own, channel, over).vectorize(channel, lanes).unroll(channel).unroll(over);
}

// What is computed for every pair of a block, and once per block for each row.
void schedule_pairs(BackwardPass &pass, const LoopLevel &at_block, const Sides &sides, const GpuTiles &tiles) {
    GradientTile &block = pass.tile;
    for (Func f : pass.of_own_rows) {
        const Var row = f.args()[0], instance = f.args()[1];
        keep_in_registers(f, at_block, {row});
        f.bound_extent(row, tiles.rows).bound_extent(instance, 1);
    }
    std::vector<Func> pairs{block.dots, block.dprobabilities, block.probabilities, block.dscores};
    if (block.unmasked.defined()) {
        pairs.push_back(block.unmasked);
    }
    for (Func f : pairs) {
        keep_in_registers(f, at_block, {sides.own, sides.other});
        f.bound_extent(sides.own, tiles.rows).bound(sides.other, 0, tiles.block_k).bound_extent(block.instance, 1);
    }
    schedule_pairs_product(block.dots, pass, block.over_head_dim, sides, tiles);
    schedule_pairs_product(block.dprobabilities, pass, block.over_head_dim_v, sides, tiles);
}

Sides sides_of(const BackwardPass &pass) {
    return pass.owns_keys ? Sides{pass.tile.key, pass.tile.row} : Sides{pass.tile.row, pass.tile.key};
}

void schedule_blocks(BackwardPass &pass, const GpuTiles &tiles) {
    GradientTile &block = pass.tile;
    const Sides sides = sides_of(pass);
    const Var channel = pass.sums.args()[0], own = pass.sums.args()[1];
    Var channel_tile("channel_tile"), channel_in("channel_in");
    Stage step = pass.sums.update();
    step.split(channel, channel_tile, channel_in, tiles.tile_v);
    step.reorder(own, channel_in, channel_tile, pass.blocks.x, pass.blocks.y);
    step.unroll(own).unroll(channel_in).unroll(channel_tile);

    schedule_pairs(pass, LoopLevel(pass.sums, pass.blocks.x), sides, tiles);
    const LoopLevel at_channels(pass.sums, channel_tile);
    const int lanes = lanes_of(pass.stored, tiles.tile_v);
    if (pass.owns_keys) {
        schedule_sum(block.dk, at_channels, block.over_rows, sides, lanes, tiles);
        schedule_sum(block.dv, at_channels, block.over_rows, sides, lanes, tiles);
    } else {
        schedule_sum(block.dq, at_channels, block.over_keys, sides, lanes, tiles);
    }
}

// Both operands of the thread block's own rows. Rows are 2 head_dim + 4 elements apart, so that threads that read the
// same channels of their rows as vectors read different banks.
void share_rows(Func operands, const std::vector<Func> &products, const Func &output, const Var &level,
                const GpuTiles &tiles) {
    Func shared = operands.in(products);
    const Var channel = shared.args()[0], row = shared.args()[1];
    Var thread("thread"), row_in("row_in");
    const int channels = 2 * tiles.head_dim;
    shared.compute_at(output, level).store_in(MemoryType::GPUShared).align_storage(channel, channels + kVector);
    shared.bound(channel, 0, channels).bound_extent(row, tiles.block_q());
    shared.split(row, thread, row_in, tiles.rows).reorder(channel, row_in, thread).gpu_threads(thread);
    shared.vectorize(channel, kVector);
}

}  // namespace

void schedule_backward_gpu(BackwardPass &pass, Func output, const GpuTiles &tiles) {
    const Var channel = output.args()[0], gradient = output.args()[1], row = output.args()[2], group = output.args()[3];
    Var thread_tile("thread_tile"), row_in("row_in"), tile("tile"), thread("thread");
    output.split(row, thread_tile, row_in, tiles.rows, TailStrategy::RoundUp);
    output.split(thread_tile, tile, thread, tiles.threads, TailStrategy::RoundUp);
    output.reorder(channel, gradient, row_in, thread, tile, group).gpu_blocks(tile, group).gpu_threads(thread);
    // Elements of f32 are stored one by one. If the sums were read as vectors, LLVM would keep them in pairs of
    // registers and copy them.
    output.bound(gradient, 0, pass.gradients.outputs());
    if (pass.stored != Float(32)) {
        output.vectorize(channel, gpu_load_lanes(pass.stored));
    }
    output.unroll(channel);
    output.unroll(gradient).unroll(row_in).never_partition_all();

    for (Func f : {pass.sums, pass.gradients}) {
        const Var own = f.args()[1];
        keep_in_registers(f, LoopLevel(output, thread), {});
        f.bound(f.args()[0], 0, tiles.head_dim).bound(own, 0, tiles.rows);
        f.bound_extent(f.args()[2], 1).bound_extent(f.args()[3], 1);
        f.unroll(f.args()[0]).unroll(own);
    }
    schedule_blocks(pass, tiles);
    share_rows(pass.owns_keys ? pass.keys : pass.queries, {pass.tile.dots, pass.tile.dprobabilities}, output, tile,
               tiles);
}

void schedule_dbias_gpu(BackwardPass &pass, Func output, const GpuTiles &tiles) {
    const Var key = output.args()[0], gradient = output.args()[1], row = output.args()[2], group = output.args()[3];
    Var block("block"), key_in("key_in"), tile("tile"), thread("thread");
    output.bound(gradient, 0, 1).split(key, block, key_in, tiles.block_k).split(row, tile, thread, tiles.threads);
    output.reorder(key_in, gradient, thread, block, tile, group);
    output.gpu_blocks(block, tile, group).gpu_threads(thread).never_partition_all();
    output.vectorize(key_in, kVector).unroll(key_in);
    schedule_pairs(pass, LoopLevel(output, thread), sides_of(pass), tiles);
    share_rows(pass.queries, {pass.tile.dots, pass.tile.dprobabilities}, output, block, tiles);
}

}  // namespace flashwright
