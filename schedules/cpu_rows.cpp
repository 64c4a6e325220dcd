#include "cpu_rows.h"

#include "algorithm/forward_attention.h"
#include "algorithm/transpose.h"

#include <algorithm>

namespace flashwright {

using namespace Halide;

namespace {

// Independent partial results for the keys of a group hide the latency of max and add.
void schedule_row_reduction(Func f, const BlockSoftmax &p, const LoopLevel &level, int lanes, int block_q) {
    const Var row = p.vars.row;
    const RVar in_group = p.over_groups.x, group = p.over_groups.y;
    Var u("u");
    f.compute_at(level).bound(row, 0, block_q).vectorize(row, lanes);
    Func partial = f.update(0).rfactor(in_group, u);
    partial.compute_at(f, row).vectorize(row, lanes).unroll(row).unroll(u);
    partial.update().reorder(row, u, group).vectorize(row, lanes).unroll(row).unroll(u);
    f.update(0).reorder(in_group, row).vectorize(row, lanes).unroll(in_group);
    f.update(1).reorder(p.over_rest, row).vectorize(row, lanes);
}

// A matrix product in register tiles: `product` accumulates over `over` for row_vectors vectors of rows x `width`
// columns, `tile` receives the finished tile. The last tile of columns shifts inwards, so every tile is whole.
void schedule_register_tiles(Func product, Func tile, const Var &row, const Var &column, const RVar &over,
                             const LoopLevel &level, const CpuTiles &tiles, int width, int lanes) {
    Var outer("outer"), inner("inner"), row_tile("row_tile"), row_in_tile("row_in_tile");
    tile.compute_at(level).bound(row, 0, tiles.block_q);
    tile.split(column, outer, inner, width, TailStrategy::ShiftInwards);
    tile.split(row, row_tile, row_in_tile, lanes * tiles.row_vectors);
    tile.reorder(row_in_tile, inner, row_tile, outer).vectorize(row_in_tile, lanes).unroll(row_in_tile).unroll(inner);
    product.compute_at(tile, row_tile).vectorize(row, lanes).unroll(row).unroll(column);
    product.update().reorder(row, column, over).vectorize(row, lanes).unroll(row).unroll(column);
    product.update().unroll(over, 2, TailStrategy::GuardWithIf);  // 1 % on long sums, 2 % on short ones
}

void schedule_rounds(TransposedCopy &copy) {
    for (size_t n = 0; n < copy.rounds.size(); n++) {
        copy.rounds[n].compute_at(copy.target, copy.over.y).store_in(MemoryType::Stack);
        copy.rounds[n].bound(copy.index, 0, copy.side * copy.side).bound_extent(copy.row_block, 1);
        copy.rounds[n].bound_extent(copy.channel_block, 1);
        copy.rounds[n].vectorize(copy.index, n == 0 ? copy.side : 2 * copy.side).unroll(copy.index);
    }
}

LoopLevel block_loop(OnlineSoftmax &state, int update) { return LoopLevel(state.state, state.steps[update].y); }

// What terms read from memory is read once a block, and so is what comes of it.
void schedule_terms(ScoredBlocks &code_path, const LoopLevel &block, const CpuTiles &tiles, int lanes) {
    const auto once_a_block = [&](Func f) {
        return f.compute_at(block)
            .bound(code_path.softmax.vars.row, 0, tiles.block_q)
            .vectorize(code_path.softmax.vars.row, lanes);
    };
    for (const ScoreTerm &term : code_path.terms) {
        for (const MemoryTile &tile : term.reads) {
            once_a_block(tile.element).specialize(tile.broadcast_rows);
        }
    }
    // Scores ask once, values once for each of their channels.
    if (any_masks_by_memory(code_path.terms) && code_path.softmax.unmasked.defined()) {
        once_a_block(code_path.unmasked);
    }
}

}  // namespace

void schedule_block_softmax_cpu(BlockSoftmax &p, OnlineSoftmax &state, int update, const CpuTiles &tiles, int lanes) {
    const Var row = p.vars.row;
    const LoopLevel block = block_loop(state, update);
    for (Func f : {p.max, p.sum}) {
        schedule_row_reduction(f, p, block, lanes, tiles.block_q);
    }
    p.weights.compute_at(block).bound(row, 0, tiles.block_q);
    p.weights.reorder(p.vars.j, row)
        .vectorize(row, lanes)
        .unroll(p.vars.j, std::min(4, tiles.tile_k), TailStrategy::ShiftInwards);
    schedule_register_tiles(p.values, p.values.in(), row, p.vars.channel, p.over_values, block, tiles, tiles.tile_v,
                            lanes);
}

void schedule_given_scores_cpu(BlockSoftmax &p, OnlineSoftmax &state, int update, const CpuTiles &tiles, int lanes) {
    p.scores.compute_at(block_loop(state, update)).bound(p.vars.row, 0, tiles.block_q);
    p.scores.vectorize(p.vars.row, lanes);
}

void schedule_forward_cpu(ForwardAttention &a, const CpuTiles &tiles, int lanes) {
    for (int n = 0; n < (int)a.code_paths.size(); n++) {
        ScoredBlocks &code_path = a.code_paths[n];
        const LoopLevel block = block_loop(a.state, n);
        schedule_terms(code_path, block, tiles, lanes);
        schedule_register_tiles(code_path.dots, code_path.softmax.scores, a.vars.row, a.vars.j, code_path.over_head_dim,
                                block, tiles, tiles.tile_k, lanes);
        for (const ScoreTerm &term : code_path.terms) {
            if (term.identity.defined()) {
                code_path.softmax.scores.specialize(term.identity);
            }
        }
        schedule_block_softmax_cpu(code_path.softmax, a.state, n, tiles, lanes);
    }
}

void schedule_state_cpu(OnlineSoftmax &s, const CpuTiles &tiles, int lanes) {
    for (Func f : {s.state, s.inverse_sum, s.lse, s.normalised}) {
        if (f.defined()) {
            schedule_rows_cpu(f, s.row, tiles, lanes);
        }
    }
    for (int n = 0; n < (int)s.steps.size(); n++) {
        const RDom &step = s.steps[n];
        s.state.update(n).reorder(s.row, step.x, step.y).vectorize(s.row, lanes).unroll(s.row);
        s.state.update(n).unroll(step.x, 4, TailStrategy::GuardWithIf);
    }
}

void schedule_rows_cpu(Func f, const Var &row, const CpuTiles &tiles, int lanes) {
    f.compute_root().bound(row, 0, tiles.block_q).vectorize(row, lanes);
}

void schedule_output_cpu(Func output, int lanes) {
    output.vectorize(output.args()[0], lanes, TailStrategy::GuardWithIf);
}

void schedule_rows_to_lanes_cpu(TransposedCopy copy, const CpuTiles &tiles) {
    Var outer("outer"), inner("inner");
    copy.target.compute_root().bound(copy.row, 0, tiles.block_q);
    copy.target.update().split(copy.row, outer, inner, copy.side).reorder(inner, copy.over.x, copy.over.y, outer);
    copy.target.update().vectorize(inner).unroll(copy.over.x);
    schedule_rounds(copy);
}

void schedule_lanes_to_rows_cpu(TransposedCopy copy) {
    Var outer("outer"), inner("inner");
    copy.target.update().split(copy.row, outer, inner, copy.side, TailStrategy::GuardWithIf);
    copy.target.update().reorder(copy.over.x, inner, copy.over.y, outer).unroll(inner);
    // Channels of one block are distinct, which Halide cannot see through the block's shifted start.
    copy.target.update().allow_race_conditions().vectorize(copy.over.x);
    schedule_rounds(copy);
}

}  // namespace flashwright
