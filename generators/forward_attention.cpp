#include "forward_attention.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

namespace {

// How many blocks of block_k keys a segment has when its last block also takes a remainder shorter than `shortest`.
Expr block_count(const Expr &length, const Expr &block_k, int shortest) {
    return select(length > 0, max(1, (length + block_k - shortest) / block_k), 0);
}

}  // namespace

KeyBlocks blocks_of_segment(const Expr &begin, const Expr &end, const Expr &block_k, int shortest) {
    return blocks_of_two_segments(begin, end, 0, 0, block_k, shortest);
}

KeyBlocks blocks_of_two_segments(const Expr &begin_a, const Expr &end_a, const Expr &begin_b, const Expr &end_b,
                                 const Expr &block_k, int shortest) {
    Expr count_a = block_count(end_a - begin_a, block_k, shortest);
    Expr count_b = block_count(end_b - begin_b, block_k, shortest);
    Expr longest = block_k + shortest;
    auto in_a = [=](const Expr &block) { return block < count_a; };
    auto begin = [=](const Expr &block) {
        return select(in_a(block), begin_a + block * block_k, begin_b + (block - count_a) * block_k);
    };
    auto length = [=](const Expr &block) {
        Expr last = block == count_a - 1 || block == count_a + count_b - 1;
        Expr end = select(in_a(block), end_a, end_b);
        // The outer min tells bounds inference how much storage a block may need.
        return min(select(last, end - begin(block), block_k), longest);
    };
    return {count_a + count_b, begin, length, longest};
}

BlockSoftmax::BlockSoftmax(const std::string &name, const Vars &vars, const KeyBlocks &blocks, Func scores, Func seen,
                           const Access &v)
    : vars(vars), scores(scores), seen(seen), max("max_" + name), weights("weights_" + name), sum("sum_" + name),
      values("values_" + name) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const Expr zero = make_const(scores.type(), 0), nothing = negative_infinity(scores.type());

    over_keys = RDom(0, blocks.longest, "j_" + name);
    over_keys.where(over_keys < blocks.length(block));
    max(row, block) = nothing;
    max(row, block) = Halide::max(max(row, block), scores(row, over_keys, block));
    // A block in which the row sees nothing has the maximum -infinity; its weights are then e^-infinity = 0.
    Expr m = max(row, block);
    Expr shift = seen.defined() ? select(is_negative_infinity(m), zero, m) : m;
    weights(row, j, block) = exp_nonpositive(scores(row, j, block) - shift);
    sum(row, block) = zero;
    sum(row, block) += weights(row, over_keys, block);

    over_values = RDom(0, blocks.longest, "jv_" + name);
    over_values.where(over_values < blocks.length(block));
    Expr value = v(blocks.begin(block) + over_values, vars.channel);
    if (seen.defined()) {
        // 0 * NaN is NaN: what a hidden key's value holds must not enter the product.
        value = select(seen(row, over_values, block), value, zero);
    }
    values(row, vars.channel, block) = zero;
    values(row, vars.channel, block) += weights(row, over_values, block) * value;
}

OnlineSoftmax::Part BlockSoftmax::part(const Expr &block) const {
    const Var row = vars.row;
    const Func values = this->values;
    return {max(row, block), sum(row, block), [=](const Expr &channel) { return values(row, channel, block); }};
}

ForwardAttention::ForwardAttention(const Access &q, const Access &k, const Access &v, Type type, Expr head_dim,
                                   Expr head_dim_v)
    : state(vars.row, head_dim_v, OnlineSoftmax::empty(type)), k(k), v(v), type(type), head_dim(head_dim) {
    queries(vars.row, vars.channel) = q(vars.row, vars.channel);
}

void ForwardAttention::add_blocks(const std::string &name, const KeyBlocks &blocks, const ScoreTerms &terms) {
    const Var row = vars.row, j = vars.j, block = vars.block;
    const ScoreIndex at{row, blocks.begin(block) + j};

    RDom d(0, head_dim, "d_" + name);
    Func dots("dots_" + name), scores("scores_" + name), seen;
    dots(row, j, block) = make_const(type, 0);
    dots(row, j, block) += queries(row, d) * k(at.key, d);

    Expr score = apply_terms(terms, dots(row, j, block), at);
    Expr is_seen = seen_by_terms(terms, at);
    if (!Internal::is_const_one(is_seen)) {
        seen = Func("seen_" + name);
        seen(row, j, block) = is_seen;
        score = select(seen(row, j, block), score, negative_infinity(type));
    }
    scores(row, j, block) = score;

    ScoredBlocks path{dots, d, BlockSoftmax(name, vars, blocks, scores, seen, v)};
    const BlockSoftmax &softmax = path.softmax;
    state.add_blocks("step_" + name, blocks.count, [&](const Expr &b) { return softmax.part(b); });
    paths.push_back(path);
}

}  // namespace flashwright
