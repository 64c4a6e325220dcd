#include "cpu_decode.h"

#include "algorithm/forward_attention.h"

#include <algorithm>
#include <numeric>

namespace flashwright {

using namespace Halide;

namespace {

// Vectors of sums at once, half of the registers: they hide the latency of the multiply-add.
int sums_at_once(Type type, int lanes) { return lanes * type.bits() == 512 ? 16 : 8; }

// dots(row, j) over the channels: partial sums across the lanes, of some keys at once, and then of pairs of lanes, so
// that each step's vectors hold the sums of several keys.
void schedule_dots(Func dots, const Var &row, const Var &j, const RVar &d, const Func &scores, const Var &tile_of_keys,
                   const CpuTiles &tiles, int lanes) {
    // The keys of a group share the loads of Q, as the rows do those of K.
    const int sums = sums_at_once(dots.type(), lanes);
    const int at_once = std::gcd(std::clamp(sums / tiles.block_q, 1, 8), tiles.tile_k);
    Var keys("keys"), key("key"), u("u");
    RVar vector("vector"), lane("lane");
    dots.compute_at(scores, tile_of_keys).reorder_storage(j, row).vectorize(j, lanes);
    dots.update().split(d, vector, lane, lanes);
    Func across = dots.update().rfactor(lane, u);
    dots.update().split(j, keys, key, at_once).reorder(lane, key, row, keys);
    dots.update().atomic().vectorize(lane).vectorize(key).unroll(row);
    across.compute_at(dots, keys).reorder_storage(u, j, row).vectorize(u).unroll(j).unroll(row);
    across.update().reorder(u, row, j, vector).vectorize(u).unroll(j).unroll(row);
}

void schedule_scores(ScoredBlocks &code_path, const LoopLevel &block, const CpuTiles &tiles, int lanes) {
    const Var row = code_path.softmax.vars.row, j = code_path.softmax.vars.j;
    // Scores ask for it a vector of keys at a time, values for one key.
    if (any_masks_by_memory(code_path.terms) && code_path.softmax.unmasked.defined()) {
        code_path.unmasked.compute_at(block).bound(row, 0, tiles.block_q).reorder_storage(j, row);
        code_path.unmasked.vectorize(j, lanes, TailStrategy::ShiftInwards);
    }
    Var outer("outer"), inner("inner");
    code_path.softmax.scores.compute_at(block).bound(row, 0, tiles.block_q).reorder_storage(j, row);
    code_path.softmax.scores.split(j, outer, inner, tiles.tile_k, TailStrategy::ShiftInwards)
        .reorder(inner, row, outer)
        .vectorize(inner, lanes);
    for (const ScoreTerm &term : code_path.terms) {
        if (term.identity.defined()) {
            code_path.softmax.scores.specialize(term.identity);
        }
    }
    schedule_dots(code_path.dots, row, j, code_path.over_head_dim.x, code_path.softmax.scores, outer, tiles, lanes);
}

void schedule_row_reduction(Func f, const BlockSoftmax &p, const LoopLevel &block, const CpuTiles &tiles) {
    Var u("u");
    f.compute_at(block).bound(p.vars.row, 0, tiles.block_q);
    Func partial = f.update(0).rfactor(p.over_groups.x, u);
    partial.compute_at(f, p.vars.row).reorder_storage(u, p.vars.row).vectorize(u);
    partial.update().reorder(u, p.over_groups.y).vectorize(u);
    f.update(0).unroll(p.over_groups.x);
}

void schedule_softmax(BlockSoftmax &p, const Expr &head_dim_v, const LoopLevel &block, const CpuTiles &tiles,
                      int lanes) {
    const Var row = p.vars.row, channel = p.vars.channel, j = p.vars.j;
    for (Func f : {p.max, p.sum}) {
        schedule_row_reduction(f, p, block, tiles);
    }
    p.weights.compute_at(block).bound(row, 0, tiles.block_q).reorder_storage(j, row).reorder(j, row);
    p.weights.vectorize(j, lanes, TailStrategy::ShiftInwards);

    Func finished = p.values.in();
    finished.compute_at(block).bound(row, 0, tiles.block_q).reorder_storage(channel, row);
    // The fewer passes over the values, the better.
    Var outer("outer"), inner("inner");
    const auto in_tiles = [&](Stage stage, int width) {
        stage.split(channel, outer, inner, width, TailStrategy::ShiftInwards).reorder(inner, row, outer);
        stage.vectorize(inner, lanes).unroll(inner).unroll(row);
    };
    for (int width : {4 * tiles.tile_v, 2 * tiles.tile_v}) {
        if (tiles.block_q * width / lanes <= sums_at_once(p.values.type(), lanes)) {
            in_tiles(finished.specialize(head_dim_v >= width), width);
        }
    }
    in_tiles(finished, tiles.tile_v);
    p.values.compute_at(finished, outer).reorder_storage(channel, row);
    p.values.vectorize(channel, lanes).unroll(channel).unroll(row);
    p.values.update().reorder(channel, row, p.over_values).vectorize(channel, lanes).unroll(channel).unroll(row);
    p.values.update().unroll(p.over_values, 2, TailStrategy::GuardWithIf);  // 15 % where V comes from memory
}

}  // namespace

void schedule_decode_cpu(ForwardAttention &a, const CpuTiles &tiles, int lanes) {
    OnlineSoftmax &s = a.state;
    const Var d = a.queries.args()[1];
    a.queries.compute_root().bound(a.vars.row, 0, tiles.block_q).reorder_storage(d, a.vars.row);
    a.queries.vectorize(d, lanes, TailStrategy::RoundUp);
    for (Func f : {s.state, s.inverse_sum, s.lse}) {
        f.compute_root().bound(s.row, 0, tiles.block_q);
    }
    for (int n = 0; n < (int)a.code_paths.size(); n++) {
        const LoopLevel block(s.state, s.steps[n].y);
        s.state.update(n).reorder(s.row, s.steps[n].x, s.steps[n].y).unroll(s.steps[n].x, 4, TailStrategy::GuardWithIf);
        schedule_scores(a.code_paths[n], block, tiles, lanes);
        schedule_softmax(a.code_paths[n].softmax, a.head_dim_v, block, tiles, lanes);
    }
}

}  // namespace flashwright
