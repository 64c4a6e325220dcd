// The recurrence of the online softmax, used by every kernel that carries a softmax state over blocks of keys
// (Dao et al. 2022, section 3.1; Rabe and Staats 2021).
#pragma once

#include <Halide.h>

#include <functional>

namespace flashwright {

// Running maximum, running sum and accumulator depend on each other at every step, and Halide gives each Func its own
// loops. So they are one Func `state(row, slot)`, and an update visits the slots in order: the factors are there when
// the sum and the accumulator need them.
class OnlineSoftmax {
 public:
    enum Slot { kOldFactor, kMax, kNewFactor, kSum, kAccumulator };

    // One row's statistics and weighted values: of the state at the start, or of one block of keys by its own maximum.
    struct Part {
        Halide::Expr max, sum;
        std::function<Halide::Expr(const Halide::Expr &channel)> values;
    };

    // Starts at `start`, given for `row`.
    OnlineSoftmax(const Halide::Var &row, const Halide::Expr &head_dim_v, const Part &start);

    // Takes in blocks 0 <= block < count, one after the other, by one update over (slot, block).
    void add_blocks(const std::string &name, const Halide::Expr &count,
                    const std::function<Part(const Halide::Expr &block)> &block);

    // The empty state: nothing seen yet.
    static Part empty(Halide::Type type);

    Halide::Expr max(const Halide::Expr &row) const { return state(row, kMax); }
    Halide::Expr sum(const Halide::Expr &row) const { return state(row, kSum); }
    Halide::Expr accumulator(const Halide::Expr &row, const Halide::Expr &channel) const {
        return state(row, channel + kAccumulator);
    }
    // Defines `inverse_sum`, `normalised` and `lse`.
    void finish();

    Halide::Func state{"state"};
    Halide::Func inverse_sum{"inverse_sum"};  // (row): 1 / l, and 0 for a row that saw nothing
    Halide::Func normalised{"normalised"};    // (row, channel): the accumulator divided by l
    Halide::Func lse{"row_lse"};              // (row): m + log(l), -infinity for a row that saw nothing
    Halide::Var row, slot{"slot"}, channel{"channel"};
    std::vector<Halide::RDom> steps;  // of the updates, in order

 private:
    Halide::Expr head_dim_v;
};

}  // namespace flashwright
