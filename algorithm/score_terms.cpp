#include "score_terms.h"

#include "scalar_math.h"

namespace flashwright {

using namespace Halide;
using Halide::Internal::make_const;

ScoreTerm softcap_term(const Expr &cap) {
    ScoreTerm term;
    const Expr off = cap == make_const(cap.type(), 0);
    term.identity = off;
    const Expr divisor = select(off, make_const(cap.type(), 1), cap);
    term.value = [=](const Expr &score, const ScoreIndex &) {
        return select(off, score, cap * tanh_accurate(score / divisor));
    };
    term.derivative = [=](const Expr &score, const ScoreIndex &) {
        Expr t = tanh_accurate(score / divisor);
        return select(off, make_const(score.type(), 1), make_const(score.type(), 1) - t * t);
    };
    return term;
}

ScoreTerm alibi_term(const Expr &slope, const Expr &diagonal_offset) {
    ScoreTerm term;
    term.value = [=](const Expr &score, const ScoreIndex &at) {
        return score - slope * cast(score.type(), abs(at.key - (at.row + diagonal_offset)));
    };
    return term;
}

ScoreTerm bias_term(const MemoryTile &tile) {
    ScoreTerm term;
    const Func bias = tile.element;
    term.value = [=](const Expr &score, const ScoreIndex &at) { return score + bias(at.arguments()); };
    term.unmasked = [=](const ScoreIndex &at) { return !is_negative_infinity(bias(at.arguments())); };
    term.masks_from_memory = true;
    term.reads = {tile};
    return term;
}

ScoreTerm mask_term(const MemoryTile &tile) {
    ScoreTerm term;
    const Func mask = tile.element;
    term.unmasked = [=](const ScoreIndex &at) { return mask(at.arguments()) != cast<uint8_t>(0); };
    term.masks_from_memory = true;
    term.reads = {tile};
    return term;
}

ScoreTerm position_term(const Expr &lo_offset, const Expr &hi_offset, const Expr &key_count) {
    ScoreTerm term;
    term.unmasked = [=](const ScoreIndex &at) {
        return at.key >= at.row + lo_offset && at.key <= min(at.row + hi_offset, key_count - 1);
    };
    return term;
}

bool names_term(const std::string &names, const std::string &name) {
    return ("+" + names + "+").find("+" + name + "+") != std::string::npos;
}

ScoreTerms named_terms(const std::string &names, const std::string &segment, const TermArguments &arguments) {
    const Var row("row"), key("key");
    const auto tile = [&](const std::string &what, const TermArguments::Matrix &matrix) {
        Func f(what + "_" + segment);
        f(with_outer({row, key}, arguments.outer)) = matrix.element(row, key);
        return MemoryTile{f, matrix.row_stride == 0};
    };
    ScoreTerms list;
    if (names_term(names, "softcap")) list.push_back(softcap_term(arguments.softcap));
    if (names_term(names, "alibi")) list.push_back(alibi_term(arguments.alibi_slope, arguments.diagonal_offset));
    if (names_term(names, "bias")) list.push_back(bias_term(tile("bias", arguments.bias)));
    if (names_term(names, "mask")) list.push_back(mask_term(tile("mask", arguments.mask)));
    return list;
}

Expr apply_terms(const ScoreTerms &terms, Expr score, const ScoreIndex &at) {
    for (const ScoreTerm &term : terms) {
        if (term.value) {
            score = term.value(score, at);
        }
    }
    return score;
}

Expr derivative_of_terms(const ScoreTerms &terms, Expr score, const ScoreIndex &at) {
    Expr product = make_const(score.type(), 1);
    for (const ScoreTerm &term : terms) {
        if (term.derivative) {
            product = product * term.derivative(score, at);
        }
        if (term.value) {
            score = term.value(score, at);
        }
    }
    return product;
}

Expr is_unmasked(const ScoreTerms &terms, const ScoreIndex &at) {
    Expr unmasked = Halide::Internal::const_true();
    for (const ScoreTerm &term : terms) {
        if (term.unmasked) {
            unmasked = unmasked && term.unmasked(at);
        }
    }
    return unmasked;
}

bool any_masks_from_memory(const ScoreTerms &terms) {
    for (const ScoreTerm &term : terms) {
        if (term.masks_from_memory) {
            return true;
        }
    }
    return false;
}

}  // namespace flashwright
