#include "cpu_one_row.h"

#include "../generators/forward_attention.h"

#include <numeric>

namespace flashwright {

using namespace Halide;

namespace {

// Dot products of this many keys share the loads of Q and hide each other's latency, or of a divisor of it and tile_k.
constexpr int kKeysAtOnce = 4;

void schedule_scores(ScoredBlocks &path, const LoopLevel &block, const CpuSimdTiles &tiles, int lanes) {
    const Var row = path.softmax.vars.row, j = path.softmax.vars.j;
    // Scores ask for it a vector of keys at a time, values for one key.
    if (any_seen_from_memory(path.terms) && path.softmax.seen.defined()) {
        path.seen.compute_at(block).bound(row, 0, 1).vectorize(j, lanes, TailStrategy::ShiftInwards);
    }
    Var outer("outer"), inner("inner"), keys("keys"), key("key"), u("u");
    path.softmax.scores.compute_at(block).bound(row, 0, 1);
    path.softmax.scores.split(j, outer, inner, tiles.tile_k, TailStrategy::ShiftInwards).vectorize(inner, lanes);
    for (const ScoreTerm &term : path.terms) {
        if (term.unused.defined()) {
            path.softmax.scores.specialize(term.unused);
        }
    }

    RVar d = path.over_head_dim.x, vector("vector"), lane("lane");
    Func dots = path.dots;
    dots.compute_at(path.softmax.scores, outer).vectorize(j, lanes);
    dots.update().split(d, vector, lane, tiles.tile_d);
    Func partial = dots.update().rfactor(lane, u);
    dots.update()
        .split(j, keys, key, std::gcd(kKeysAtOnce, tiles.tile_k))
        .reorder(lane, key, keys, row)
        .atomic()
        .vectorize(lane)
        .unroll(key);
    partial.compute_at(dots, keys).reorder_storage(u, j).vectorize(u).unroll(j);
    partial.update().reorder(u, j, vector).vectorize(u).unroll(j);
}

void schedule_row_reduction(Func f, const BlockSoftmax &p, const LoopLevel &block) {
    Var u("u");
    f.compute_at(block).bound(p.vars.row, 0, 1);
    Func partial = f.update(0).rfactor(p.over_groups.x, u);
    partial.compute_at(f, p.vars.row).reorder_storage(u, p.vars.row).vectorize(u);
    partial.update().reorder(u, p.over_groups.y).vectorize(u);
    f.update(0).unroll(p.over_groups.x);
}

void schedule_softmax(BlockSoftmax &p, const LoopLevel &block, const CpuSimdTiles &tiles, int lanes) {
    const Var row = p.vars.row, channel = p.vars.channel;
    for (Func f : {p.max, p.sum}) {
        schedule_row_reduction(f, p, block);
    }
    p.weights.compute_at(block).bound(row, 0, 1).vectorize(p.vars.j, lanes, TailStrategy::ShiftInwards);

    Var outer("outer"), inner("inner");
    Func finished = p.values.in();
    finished.compute_at(block).bound(row, 0, 1).split(channel, outer, inner, tiles.tile_v, TailStrategy::ShiftInwards);
    finished.vectorize(inner, lanes).unroll(inner);
    p.values.compute_at(finished, outer).vectorize(channel, lanes).unroll(channel);
    p.values.update().reorder(channel, p.over_values).vectorize(channel, lanes).unroll(channel);
    p.values.update().unroll(p.over_values, 2, TailStrategy::GuardWithIf);
}

}  // namespace

void schedule_one_row_cpu(ForwardAttention &a, const CpuSimdTiles &tiles, int lanes) {
    OnlineSoftmax &s = a.state;
    a.queries.compute_root().bound(a.vars.row, 0, 1).vectorize(a.queries.args()[1], lanes, TailStrategy::RoundUp);
    for (Func f : {s.state, s.inverse_sum, s.lse}) {
        f.compute_root().bound(s.row, 0, 1);
    }
    for (int n = 0; n < (int)a.paths.size(); n++) {
        const LoopLevel block(s.state, s.steps[n].y);
        s.state.update(n).reorder(s.row, s.steps[n].x, s.steps[n].y).unroll(s.steps[n].x, 4, TailStrategy::GuardWithIf);
        schedule_scores(a.paths[n], block, tiles, lanes);
        schedule_softmax(a.paths[n].softmax, block, tiles, lanes);
    }
}

}  // namespace flashwright
