// What happens to a score between the dot product and the softmax, as a list of small composable terms:
//
//   score = dot(q_i, k_j) * softmax_scale; then each term of the list in order: score = value(score, i, j);
//   key j is masked for row i if any term masks it.
//
// Soft cap: Gemma 2 (Gemma Team 2024, section 2). ALiBi: Press et al. 2022, section 3. A new term is a row in
// kernels/score_term.h, and a function that returns a ScoreTerm in the list of score_terms.cpp.
#pragma once

#include "kernels/score_term.h"
#include "online_softmax.h"

#include <Halide.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace flashwright {

// One element of the score matrix: a query row of the tile and a key's index in K.
struct ScoreIndex {
    Halide::Expr row, key;
    OuterVars outer = {};

    // The same as arguments of a Func.
    std::vector<Halide::Expr> arguments() const { return with_outer({row, key}, outer); }
};

// A matrix in memory.
struct MemoryTile {
    Halide::Func element;         // (row, key, outer…)
    Halide::Expr broadcast_rows;  // whether all rows are the same in memory
};

struct ScoreTerm {
    // The score after this term, from the score before it. Undefined: the term only masks.
    std::function<Halide::Expr(const Halide::Expr &score, const ScoreIndex &)> value;
    // d value / d score, from the score before this term. Undefined: 1.
    std::function<Halide::Expr(const Halide::Expr &score, const ScoreIndex &)> derivative;
    // Which keys are unmasked for the row. Undefined: all.
    std::function<Halide::Expr(const ScoreIndex &)> unmasked;
    // `unmasked` reads memory, so its result is worth keeping.
    bool masks_by_memory = false;
    // What the term reads from memory, to be read once a block.
    std::vector<MemoryTile> reads;
    // When true the term changes nothing, and kernels have a specialised loop without it. Undefined: no such loop.
    Halide::Expr identity;
};

using ScoreTerms = std::vector<ScoreTerm>;

// cap * tanh(score / cap); cap == 0: unchanged.
ScoreTerm softcap_term(const Halide::Expr &cap);
// -slope * |key - (row + diagonal_offset)| (Press et al. 2022, section 3, measured from the diagonal).
ScoreTerm alibi_term(const Halide::Expr &slope, const Halide::Expr &diagonal_offset);
// + bias(row, key, outer…); a bias of -infinity masks the key.
ScoreTerm bias_term(const MemoryTile &bias);
// mask(row, key, outer…) == 0 masks the key.
ScoreTerm mask_term(const MemoryTile &mask);
// row + lo_offset <= key <= row + hi_offset and key < key_count: causal, window and key length in one.
ScoreTerm position_term(const Halide::Expr &lo_offset, const Halide::Expr &hi_offset, const Halide::Expr &key_count);

// What all terms take, by the names of their inputs. All may depend on `outer`.
struct TermArguments {
    struct Matrix {
        std::function<Halide::Expr(const Halide::Expr &row, const Halide::Expr &key)> element;
        Halide::Expr row_stride;
    };

    std::map<std::string, Halide::Expr> numbers;
    std::map<std::string, Matrix> matrices;
    Halide::Expr diagonal_offset;
    OuterVars outer = {};
    std::string code_path = {};  // what the Funcs that read matrices are called after
};

// Whether `names`, joined by '+', hold one.
bool names_term(const std::string &names, const std::string &name);
// The terms that are named, in the order of kScoreTerms; an error if one is not in it. Position is not in the list.
ScoreTerms named_terms(const std::string &names, const TermArguments &arguments);

// The score after all terms, and the derivative of that by the score before them.
Halide::Expr apply_terms(const ScoreTerms &, Halide::Expr score, const ScoreIndex &);
Halide::Expr derivative_of_terms(const ScoreTerms &, Halide::Expr score, const ScoreIndex &);
// Whether the key is unmasked for the row.
Halide::Expr is_unmasked(const ScoreTerms &, const ScoreIndex &);
bool any_masks_by_memory(const ScoreTerms &);

}  // namespace flashwright
