#include "gpu_forward.h"

#include "algorithm/forward_attention.h"

#include <algorithm>

namespace flashwright {

using namespace Halide;

namespace {

constexpr int kVector = 4;  // elements of f32 of the widest load

// How many of `tile` channels one load brings.
int lanes_of(const Func &input, int tile) { return std::min(gpu_load_lanes(input.type()), tile); }

// Keeps the values of one thread in registers: every loop that indexes them is unrolled.
void keep_in_registers(Func f, const LoopLevel &level, const Var &row, const OuterVars &outer, const GpuTiles &tiles) {
    f.compute_at(level).store_in(MemoryType::Register).bound_extent(row, tiles.rows).unroll(row).never_partition_all();
    for (const Var &v : outer) {
        f.bound_extent(v, 1);
    }
    for (int n = 0; n < f.num_update_definitions(); n++) {
        f.update(n).unroll(row).never_partition_all();
    }
}

void schedule_dots(ScoredBlocks &code_path, Func k, const GpuTiles &tiles) {
    const BlockSoftmax::Vars &vars = code_path.softmax.vars;
    const RVar d = code_path.over_head_dim;
    RVar d_tile("d_tile"), d_in("d_in");
    code_path.dots.unroll(vars.j);
    code_path.dots.update().split(d, d_tile, d_in, tiles.tile_d).reorder(vars.row, d_in, vars.j, d_tile);
    code_path.dots.update().unroll(d_in).unroll(vars.j);

    Func keys = k.in(code_path.dots);
    const Var channel = keys.args()[0];
    keys.compute_at(code_path.dots, vars.j).store_in(MemoryType::Register).bound_extent(channel, tiles.tile_d);
    keys.vectorize(channel, lanes_of(k, tiles.tile_d)).unroll(channel);
}

void schedule_code_path(ScoredBlocks &code_path, OnlineSoftmax &state, int update, Func k, const GpuTiles &tiles) {
    BlockSoftmax &p = code_path.softmax;
    const BlockSoftmax::Vars &vars = p.vars;
    const RVar slot = state.steps[update].x, block = state.steps[update].y;
    RVar slot_tile("slot_tile"), slot_in("slot_in");
    const LoopLevel at_block(state.state, block);
    state.state.update(update)
        .split(slot, slot_tile, slot_in, tiles.tile_v)
        .reorder(vars.row, slot_in, slot_tile, block)
        .unroll(slot_in)
        .unroll(slot_tile);

    for (const ScoreTerm &term : code_path.terms) {
        for (const MemoryTile &tile : term.reads) {
            Func f = tile.element;
            keep_in_registers(f, at_block, vars.row, vars.outer, tiles);
            f.unroll(f.args()[1]);
        }
    }
    if (p.unmasked.defined()) {
        keep_in_registers(p.unmasked, at_block, vars.row, vars.outer, tiles);
        p.unmasked.bound_extent(vars.block, 1).bound(vars.j, 0, tiles.block_k).unroll(vars.j);
    }
    for (Func f : {code_path.dots, p.weights, p.max, p.sum}) {
        keep_in_registers(f, at_block, vars.row, vars.outer, tiles);
        f.bound_extent(vars.block, 1);
    }
    if (tiles.threads_per_row > 1) {  // exchanged once, not by each Func that reads them
        keep_in_registers(p.scores, at_block, vars.row, vars.outer, tiles);
        p.scores.bound_extent(vars.block, 1).bound(vars.j, 0, tiles.block_k).unroll(vars.j);
    }
    for (Func f : {code_path.dots, p.weights}) {
        f.bound(vars.j, 0, tiles.block_k);
    }
    schedule_dots(code_path, k, tiles);
    p.weights.unroll(vars.j);
    for (Func f : {p.max, p.sum}) {
        f.update(0).unroll(p.over_groups.x).unroll(p.over_groups.y);
        f.update(1).unroll(p.over_rest);
    }

    keep_in_registers(p.values, LoopLevel(state.state, slot_tile), vars.row, vars.outer, tiles);
    p.values.bound_extent(vars.block, 1)
        .bound_extent(vars.channel, tiles.tile_v)
        .reorder_storage(vars.channel, vars.row);
    const int lanes = lanes_of(k, tiles.tile_v);
    p.values.vectorize(vars.channel, lanes).unroll(vars.channel);
    p.values.update().reorder(vars.row, vars.channel, p.over_values);
    p.values.update().vectorize(vars.channel, lanes).unroll(vars.channel).unroll(p.over_values);
}

// Threads that share a row are neighbours in a warp.
void spread_over_threads(Func f, const Var &lane, const Var &thread_tile, const GpuTiles &tiles) {
    if (tiles.threads_per_row > 1) {
        f.gpu_threads(lane, thread_tile);
    } else {
        f.gpu_threads(thread_tile);
    }
}

// The rows of neighbouring threads are channels_per_thread + 4 elements apart, so that threads that read vectors at the
// same place of their rows read different banks.
void share_queries(Func queries, const Func &output, const Var &level, const GpuTiles &tiles) {
    const Var row = queries.args()[0], channel = queries.args()[1], lane = queries.args()[2],
              thread_tile = queries.args()[3];
    queries.compute_at(output, level).store_in(MemoryType::GPUShared).reorder_storage(channel, lane, thread_tile, row);
    queries.align_storage(channel, tiles.channels_per_thread() + kVector)
        .bound(channel, 0, tiles.channels_per_thread());
    queries.bound(row, 0, tiles.rows)
        .bound(lane, 0, tiles.threads_per_row)
        .bound_extent(thread_tile, tiles.threads / tiles.threads_per_row);
    queries.reorder(channel, row, lane, thread_tile).vectorize(channel, kVector);
    spread_over_threads(queries, lane, thread_tile, tiles);
}

}  // namespace

void schedule_forward_gpu(ForwardAttention &a, Func output, Func k, const GpuTiles &tiles) {
    const Var channel = output.args()[0], row = output.args()[1], head = output.args()[2], batch = output.args()[3];
    Var thread_tile("thread_tile"), row_in("row_in"), tile("tile"), thread("thread"), lane("lane"), column("column");
    output.split(channel, lane, column, tiles.result_layout(output.type().bytes()).columns_per_thread);
    output.split(row, thread_tile, row_in, tiles.rows, TailStrategy::RoundUp);
    output.split(thread_tile, tile, thread, tiles.threads / tiles.threads_per_row, TailStrategy::RoundUp);
    output.reorder(column, row_in, lane, thread, tile, head, batch);
    output.gpu_blocks(tile, head, batch);
    spread_over_threads(output, lane, thread, tiles);
    output.vectorize(column, gpu_load_lanes(output.type())).unroll(column).unroll(row_in).never_partition_all();

    share_queries(a.queries, output, tile, tiles);
    OnlineSoftmax &s = a.state;
    for (Func f : {s.state, s.inverse_sum, s.normalised}) {
        keep_in_registers(f, LoopLevel(output, lane), s.row, s.outer, tiles);
    }
    // If the state itself were read as vectors, LLVM would keep it in pairs of registers and copy it in every block.
    s.normalised.bound(s.channel, 0, tiles.channels_per_thread()).unroll(s.channel).reorder_storage(s.channel, s.row);
    s.state.unroll(s.slot).reorder_storage(s.slot, s.row);
    for (int n = 0; n < (int)a.code_paths.size(); n++) {
        schedule_code_path(a.code_paths[n], s, n, k, tiles);
    }
}

}  // namespace flashwright
