#include "cpu_backward.h"

#include "algorithm/attention_gradient.h"

namespace flashwright {

using namespace Halide;

namespace {

// `consumer`'s stage in register tiles of `width` vector elements along `along` and `height` of `across`; `product`
// accumulates one over `over`.
void schedule_product(Func product, Stage consumer, Func owner, const Var &along, const Var &across, const RVar &over,
                      int width, int height, int lanes, bool across_first, const std::vector<VarOrRVar> &outer_loops) {
    const std::string name = product.name();
    Var along_tile(name + "_along"), along_in(name + "_along_in"), across_tile(name + "_across"),
        across_in(name + "_across_in");
    consumer.split(along, along_tile, along_in, width, TailStrategy::GuardWithIf);
    consumer.split(across, across_tile, across_in, height, TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> order = {along_in, across_in};
    order.push_back(across_first ? across_tile : along_tile);
    order.push_back(across_first ? along_tile : across_tile);
    order.insert(order.end(), outer_loops.begin(), outer_loops.end());
    consumer.reorder(order).vectorize(along_in, lanes).unroll(along_in).unroll(across_in);
    product.compute_at(LoopLevel(owner, across_first ? across_tile : along_tile));
    product.bound_extent(along, width).bound_extent(across, height);
    product.vectorize(along, lanes).unroll(along).unroll(across);
    product.update().reorder(along, across, over).vectorize(along, lanes).unroll(along).unroll(across);
    product.update().unroll(over, 2, TailStrategy::GuardWithIf);
}

}  // namespace

void schedule_backward_cpu(GradientTile &t, BackwardOutputs &outputs, int update, const CpuTiles &tiles, int lanes) {
    const int width = tiles.width;
    if (t.unmasked.defined()) {
        t.unmasked.compute_root().vectorize(t.key, lanes);
    }
    for (Func f : {t.probabilities, t.dscores}) {
        f.compute_root();
        f.align_bounds(t.key, width).align_bounds(t.row, tiles.tile_q);
    }
    schedule_product(t.dots, t.probabilities, t.probabilities, t.key, t.row, t.over_head_dim, width, tiles.tile_q,
                     lanes, true, {t.instance});
    schedule_product(t.dprobabilities, t.dscores, t.dscores, t.key, t.row, t.over_head_dim_v, width, tiles.tile_q,
                     lanes, true, {t.instance});
    const RVar instance = t.instances.x;
    schedule_product(t.dv, outputs.dv.update(update), outputs.dv, t.channel, t.key, t.over_rows, width, tiles.tile_k,
                     lanes, false, {instance});
    schedule_product(t.dk, outputs.dk.update(update), outputs.dk, t.channel, t.key, t.over_rows, width, tiles.tile_k,
                     lanes, false, {instance});
    schedule_product(t.dq, outputs.dq.update(update), outputs.dq, t.channel, t.row, t.over_keys, width, tiles.tile_q,
                     lanes, false, {instance});
}

}  // namespace flashwright
