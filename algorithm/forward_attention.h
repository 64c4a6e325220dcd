// Blocked attention forward as Halide Funcs, without a schedule: one tile of query rows, and blocks of keys whose
// length is known at run time. For row i, with the scores S_ij of score_terms.h (-infinity for a masked key j):
//
//   out_i = sum_j exp(S_ij - lse_i) V_j,   lse_i = log(sum_j exp(S_ij)).
//
// Over blocks B of keys, as in Dao et al. 2022 (FlashAttention), section 3.1, but with the maximum of the block alone:
//
//   m_iB = max_{j in B} S_ij,  p_ij = exp(S_ij - m_iB),  l_iB = sum_{j in B} p_ij,  a_iB = sum_{j in B} p_ij V_j.
//
// So these are pure functions of (row, block), and a schedule may place them freely. OnlineSoftmax then combines the
// blocks.
#pragma once

#include "online_softmax.h"
#include "score_terms.h"

#include <Halide.h>

#include <string>

namespace flashwright {

// A run of keys as `count` blocks of `length` keys each. All blocks of a run have the same length, so bounds inference
// knows exactly which keys a block has, and no loop tests for the end of a short block.
struct KeyBlocks {
    Halide::Expr first_key, length, count;
    // Which of the blocks are computed; it may depend on the outer variables. Undefined: all.
    std::function<Halide::Expr(const Halide::Expr &block)> taken = {};

    Halide::Expr begin(const Halide::Expr &block) const { return first_key + block * length; }
};

// The block-local softmax over the blocks of a code path: from scores(row, j, block) to the weighted values.
struct BlockSoftmax {
    // v(key, channel). With `unmasked(row, j, block)`, V of masked keys may hold NaN or infinity.
    using Access = std::function<Halide::Expr(const Halide::Expr &position, const Halide::Expr &channel)>;

    // The variables of a row, a key within its block, a value channel and a block.
    struct Vars {
        Halide::Var row{"row"}, j{"j"}, channel{"channel"}, block{"block"};
        OuterVars outer;
    };

    static constexpr int kPartialReductions = 4;
    BlockSoftmax(const std::string &name, const Vars &vars, const KeyBlocks &blocks, Halide::Func scores,
                 Halide::Func unmasked, const Access &v, int partial_reductions = kPartialReductions);

    // One block as OnlineSoftmax takes it.
    OnlineSoftmax::Partial partial(const Halide::Expr &block) const;

    Vars vars;
    Halide::Func scores, unmasked, max, weights, sum, values;
    // Maximum and sum reduce groups of this many keys, one key of each group in each of as many independent partial
    // results, which hides latency. The keys that fill no group follow.
    int partial_reductions;
    Halide::RDom over_groups, over_rest, over_values;

 private:
    // f(row, block): `combine` over the block's keys in `source`.
    void define_reduction(Halide::Func f, const Halide::Expr &start, Halide::Func source,
                          const std::function<Halide::Expr(Halide::Expr, Halide::Expr)> &combine);

    Halide::Expr length;
};

// One code path of attention forward: the dot products, the score terms and the softmax of its blocks.
struct ScoredBlocks {
    ScoreTerms terms;
    Halide::Func dots, unmasked;  // the latter (row, j, block); undefined where no key is masked
    Halide::RDom over_head_dim;
    BlockSoftmax softmax;
};

struct ForwardAttention {
    using Access = BlockSoftmax::Access;

    // queries(row, channel, outer…), already scaled; k(key, channel), v(key, channel), which may depend on `outer`.
    // Without `outer` it is one tile of one head.
    ForwardAttention(Halide::Func queries, const Access &k, const Access &v, Halide::Expr head_dim,
                     Halide::Expr head_dim_v, const OuterVars &outer = {},
                     int first_channel = OnlineSoftmax::kAccumulator);

    // Adds a code path for blocks of keys. `assume_finite`: V is finite where `terms` mask keys. Otherwise V of each
    // masked key is replaced by 0, which keeps NaN and infinity out at the cost of a select.
    void add_blocks(const std::string &name, const KeyBlocks &blocks, const ScoreTerms &terms,
                    bool assume_finite = false);

    BlockSoftmax::Vars vars;
    Halide::Func queries;
    OnlineSoftmax state;
    std::vector<ScoredBlocks> code_paths;
    Halide::Expr head_dim_v;
    int partial_reductions = BlockSoftmax::kPartialReductions;  // of the blocks that are added from here on

 private:
    Access k, v;
    Halide::Expr head_dim;
};

}  // namespace flashwright
