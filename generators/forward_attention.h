// Blocked attention forward as Halide Funcs, with no schedule. One tile of query rows; blocks of keys of run-time length.
//
// The maximum, the weights and the weighted values of a block of keys use the block's own maximum, so they are pure functions
// of (row, block) and a schedule may place them freely; OnlineSoftmax then takes the block into the running state.
#pragma once

#include "online_softmax.h"
#include "score_terms.h"

#include <Halide.h>

#include <string>

namespace flashwright {

// Where the blocks of one segment list start and how long they are. A block is at least `shortest` keys long if its segment
// is: the last block of a segment takes the remainder.
struct KeyBlocks {
    Halide::Expr count;
    std::function<Halide::Expr(const Halide::Expr &block)> begin, length;
    Halide::Expr longest;
};

KeyBlocks blocks_of_segment(const Halide::Expr &begin, const Halide::Expr &end, const Halide::Expr &block_k, int shortest);
KeyBlocks blocks_of_two_segments(const Halide::Expr &begin_a, const Halide::Expr &end_a, const Halide::Expr &begin_b,
                                 const Halide::Expr &end_b, const Halide::Expr &block_k, int shortest);

// The block-local softmax over one list of blocks: from scores(row, j, block) to the weighted values.
struct BlockSoftmax {
    // v(key, channel); `seen(row, j, block)` undefined: every row sees every key.
    using Access = std::function<Halide::Expr(const Halide::Expr &position, const Halide::Expr &channel)>;

    // The variables of a row, a key within its block, a value channel and a block.
    struct Vars {
        Halide::Var row{"row"}, j{"j"}, channel{"channel"}, block{"block"};
    };

    BlockSoftmax(const std::string &name, const Vars &vars, const KeyBlocks &blocks, Halide::Func scores, Halide::Func seen,
                 const Access &v);

    // One block as OnlineSoftmax takes it.
    OnlineSoftmax::Part part(const Halide::Expr &block) const;

    Vars vars;
    Halide::Func scores, seen, max, weights, sum, values;
    Halide::RDom over_keys, over_values;
};

// One segment list of attention forward: the dot products, the score terms and the softmax of its blocks.
struct ScoredBlocks {
    Halide::Func dots;
    Halide::RDom over_head_dim;
    BlockSoftmax softmax;
};

struct ForwardAttention {
    using Access = BlockSoftmax::Access;

    // Accessors of one head: q(row, channel) already scaled, k(key, channel), v(key, channel).
    ForwardAttention(const Access &q, const Access &k, const Access &v, Halide::Type type, Halide::Expr head_dim,
                     Halide::Expr head_dim_v);

    // Adds blocks of keys. `terms` with a `seen` hide keys one by one.
    void add_blocks(const std::string &name, const KeyBlocks &blocks, const ScoreTerms &terms);

    BlockSoftmax::Vars vars;
    Halide::Func queries{"queries"};
    OnlineSoftmax state;
    std::vector<ScoredBlocks> paths;

private:
    Access k, v;
    Halide::Type type;
    Halide::Expr head_dim;
};

}  // namespace flashwright
