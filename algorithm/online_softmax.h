// The recurrence of the online softmax, used by every kernel that carries a softmax state over blocks of keys
// (Milakov and Gimelshein 2018, section 3; Dao et al. 2022, section 3.1). The state of a row is its maximum m, sum l
// and accumulator a. A block with its own m_B, l_B and a_B changes it to
//
//   m' = max(m, m_B),   l' = l exp(m - m') + l_B exp(m_B - m'),   a' = a exp(m - m') + a_B exp(m_B - m').
//
// After all blocks out = a / l and lse = m + log(l).
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

namespace flashwright {

// The dimensions that every Func of a tile has after its own, in kernels that compute many tiles: which tile it is.
using OuterVars = std::vector<Halide::Var>;

inline std::vector<Halide::Expr> with_outer(std::vector<Halide::Expr> own, const OuterVars &outer) {
    own.insert(own.end(), outer.begin(), outer.end());
    return own;
}

// Maximum, sum and accumulator depend on each other at every step, but Halide gives each Func its own loops. So they
// are one Func `state(row, slot)`, and an update visits the slots in order: the factors exp(m - m') and exp(m_B - m')
// are slots too, computed before the sum and the accumulator use them.
class OnlineSoftmax {
 public:
    enum Slot { kOldFactor, kMax, kNewFactor, kSum, kAccumulator };

    // One row's statistics and weighted values: of the state at the start, or of one block of keys by its own maximum.
    struct Partial {
        Halide::Expr max, sum;
        std::function<Halide::Expr(const Halide::Expr &channel)> values;
    };

    // The state begins as `start`, given for `row`. The accumulator begins at slot `first_channel`; slots before it
    // that have no name are never read.
    OnlineSoftmax(const Halide::Var &row, const Halide::Expr &head_dim_v, const Partial &start,
                  const OuterVars &outer = {}, int first_channel = kAccumulator);

    // Adds blocks 0 <= block < count one after the other, by one update over (slot, block). If `taken` is given, only
    // blocks for which it holds are added; it may depend on the outer variables.
    void add_blocks(const std::string &name, const Halide::Expr &count,
                    const std::function<Partial(const Halide::Expr &block)> &block,
                    const std::function<Halide::Expr(const Halide::Expr &block)> &taken = {});

    // The empty state, before any key.
    static Partial empty(Halide::Type type);

    Halide::Expr max(const Halide::Expr &i) const { return at(i, kMax); }
    Halide::Expr sum(const Halide::Expr &i) const { return at(i, kSum); }
    Halide::Expr accumulator(const Halide::Expr &i, const Halide::Expr &n) const { return at(i, n + first_channel); }
    // Defines `inverse_sum`, `normalised` and `lse`.
    void finish();

    Halide::Func state{"state"};
    Halide::Func inverse_sum{"inverse_sum"};  // (row): 1 / l, and 0 for a fully masked row
    Halide::Func normalised{"normalised"};    // (row, channel): the accumulator divided by l
    Halide::Func lse{"row_lse"};              // (row): m + log(l), -infinity for a fully masked row
    Halide::Var row, slot{"slot"}, channel{"channel"};
    OuterVars outer;
    std::vector<Halide::RDom> steps;  // of the updates, in order

 private:
    Halide::FuncRef at(const Halide::Expr &i, const Halide::Expr &n) const { return state(with_outer({i, n}, outer)); }

    Halide::Expr head_dim_v;
    int first_channel;
};

}  // namespace flashwright
