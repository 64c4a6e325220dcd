#include "score_terms.h"

#include "scalar_math.h"

#include <sstream>
#include <string_view>

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
    term.masks_by_memory = true;
    term.reads = {tile};
    return term;
}

ScoreTerm mask_term(const MemoryTile &tile) {
    ScoreTerm term;
    const Func mask = tile.element;
    term.unmasked = [=](const ScoreIndex &at) { return mask(at.arguments()) != cast<uint8_t>(0); };
    term.masks_by_memory = true;
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

namespace {

MemoryTile memory_tile(const TermArguments &arguments, const std::string &name) {
    const Var row("row"), key("key");
    const TermArguments::Matrix &matrix = arguments.matrices.at(name);
    Func f(name + "_" + arguments.code_path);
    f(with_outer({row, key}, arguments.outer)) = matrix.element(row, key);
    return MemoryTile{f, matrix.row_stride == 0};
}

// What the terms do, in the order of kScoreTerms.
struct TermDefinition {
    const char *name;
    ScoreTerm (*term)(const TermArguments &);
};

constexpr TermDefinition kTermDefinitions[] = {
    {"softcap", [](const TermArguments &a) { return softcap_term(a.numbers.at("softcap")); }},
    {"alibi", [](const TermArguments &a) { return alibi_term(a.numbers.at("alibi_slopes"), a.diagonal_offset); }},
    {"bias", [](const TermArguments &a) { return bias_term(memory_tile(a, "bias")); }},
    {"mask", [](const TermArguments &a) { return mask_term(memory_tile(a, "mask")); }},
};

constexpr bool defines_all_terms() {
    for (std::size_t n = 0; n < sizeof(kScoreTerms) / sizeof(*kScoreTerms); ++n)
        if (std::string_view(kTermDefinitions[n].name) != kScoreTerms[n].name) return false;
    return sizeof(kTermDefinitions) / sizeof(*kTermDefinitions) == sizeof(kScoreTerms) / sizeof(*kScoreTerms);
}
static_assert(defines_all_terms());

void refuse_unknown_names(const std::string &names) {
    std::istringstream given(names);
    std::string all;
    for (const ScoreTermRow &row : kScoreTerms) all += (all.empty() ? "" : ", ") + std::string(row.name);
    for (std::string name; std::getline(given, name, '+');) {
        _halide_user_assert(find_score_term(name) != nullptr)
            << "terms: expected any of " << all << ", joined by '+', got " << name << "\n";
    }
}

}  // namespace

ScoreTerms named_terms(const std::string &names, const TermArguments &arguments) {
    refuse_unknown_names(names);
    ScoreTerms list;
    for (const TermDefinition &definition : kTermDefinitions) {
        if (names_term(names, definition.name)) list.push_back(definition.term(arguments));
    }
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

bool any_masks_by_memory(const ScoreTerms &terms) {
    for (const ScoreTerm &term : terms) {
        if (term.masks_by_memory) {
            return true;
        }
    }
    return false;
}

}  // namespace flashwright
