#include "cpu_simd.h"

#include "../generators/forward_attention.h"

namespace flashwright {

using namespace Halide;

namespace {

// Keeps `partials` independent partial results along `r`, which hides the latency of max and add.
void schedule_row_reduction(Func f, const Var &row, const RVar &r, const LoopLevel &level, int lanes, int block_q) {
    const int partials = 4;
    RVar outer("ro"), inner("ri");
    Var u("u");
    f.compute_at(level).bound(row, 0, block_q).vectorize(row, lanes);
    f.update().split(r, outer, inner, partials, TailStrategy::GuardWithIf);
    Func partial = f.update().rfactor(inner, u);
    partial.compute_at(f, row).vectorize(row, lanes).unroll(row).unroll(u);
    partial.update().reorder(row, u, outer).vectorize(row, lanes).unroll(row).unroll(u);
    f.update().reorder(inner, row).vectorize(row, lanes).unroll(inner);
}

// A matrix product in register tiles: `product` accumulates over `over` for row_vectors vectors of rows x `width` columns,
// `tile` receives the finished tile. The last tile of columns shifts inwards, so every tile is whole.
void schedule_register_tiles(Func product, Func tile, const Var &row, const Var &column, const RVar &over,
                             const LoopLevel &level, const CpuSimdTiles &tiles, int width, int lanes) {
    Var outer("outer"), inner("inner"), row_tile("row_tile"), row_in_tile("row_in_tile");
    tile.compute_at(level).hoist_storage_root().bound(row, 0, tiles.block_q);
    tile.split(column, outer, inner, width, TailStrategy::ShiftInwards);
    tile.split(row, row_tile, row_in_tile, lanes * tiles.row_vectors);
    tile.reorder(row_in_tile, inner, row_tile, outer).vectorize(row_in_tile, lanes).unroll(row_in_tile).unroll(inner);
    product.compute_at(tile, row_tile).vectorize(row, lanes).unroll(row).unroll(column);
    product.update().reorder(row, column, over).vectorize(row, lanes).unroll(row).unroll(column);
}

LoopLevel block_loop(OnlineSoftmax &state, int update) {
    return LoopLevel(state.state, state.steps[update].y);
}

}  // namespace

void schedule_block_softmax_cpu(BlockSoftmax &p, OnlineSoftmax &state, int update, const CpuSimdTiles &tiles, int lanes) {
    const Var row = p.vars.row;
    const LoopLevel block = block_loop(state, update);
    for (Func f : {p.max, p.sum}) {
        schedule_row_reduction(f, row, p.over_keys, block, lanes, tiles.block_q);
    }
    p.weights.compute_at(block).hoist_storage_root().bound(row, 0, tiles.block_q);
    p.weights.reorder(p.vars.j, row).vectorize(row, lanes).unroll(p.vars.j, 4, TailStrategy::GuardWithIf);
    schedule_register_tiles(p.values, p.values.in(), row, p.vars.channel, p.over_values, block, tiles, tiles.tile_v, lanes);
}

void schedule_given_scores_cpu(BlockSoftmax &p, OnlineSoftmax &state, const CpuSimdTiles &tiles, int lanes) {
    p.scores.compute_at(block_loop(state, 0)).hoist_storage_root().bound(p.vars.row, 0, tiles.block_q);
    p.scores.vectorize(p.vars.row, lanes);
}

void schedule_forward_cpu(ForwardAttention &a, const CpuSimdTiles &tiles, int lanes) {
    const Var row = a.vars.row;
    a.queries.compute_root().bound(row, 0, tiles.block_q).reorder(a.vars.channel, row).vectorize(row, lanes);
    for (int n = 0; n < (int)a.paths.size(); n++) {
        ScoredBlocks &path = a.paths[n];
        const LoopLevel block = block_loop(a.state, n);
        schedule_register_tiles(path.dots, path.softmax.scores, row, a.vars.j, path.over_head_dim, block, tiles, tiles.tile_k,
                                lanes);
        schedule_block_softmax_cpu(path.softmax, a.state, n, tiles, lanes);
    }
}

void schedule_state_outputs_cpu(OnlineSoftmax &s, Func matrix, const std::vector<Func> &vectors, int block_q, int lanes) {
    const Var row = s.row;
    s.state.compute_root().bound(row, 0, block_q).vectorize(row, lanes);
    for (int n = 0; n < (int)s.steps.size(); n++) {
        const RDom &step = s.steps[n];
        s.state.update(n).reorder(row, step.x, step.y).vectorize(row, lanes).unroll(row);
        s.state.update(n).unroll(step.x, 4, TailStrategy::GuardWithIf);
    }
    for (Func f : {s.inverse_sum, s.lse, s.normalised}) {
        if (f.defined()) {
            f.compute_root().bound(row, 0, block_q).vectorize(row, lanes);
        }
    }
    matrix.vectorize(matrix.args()[0], lanes, TailStrategy::GuardWithIf);
    for (Func f : vectors) {
        f.vectorize(f.args()[0], lanes, TailStrategy::GuardWithIf);
    }
}

}  // namespace flashwright
