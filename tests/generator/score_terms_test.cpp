// Score terms one by one and as a list: their values by the definition, their derivatives by finite differences.
#include "algorithm/score_terms.h"

#include <Halide.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace flashwright::test {

namespace {

using Halide::Expr;
using Halide::Func;
using Halide::Var;

constexpr int kKeys = 8, kRows = 4;

double bias_at(int key, int row) {
    return key == 5 ? -std::numeric_limits<double>::infinity() : 0.25 * key - 0.5 * row;
}

Expr bias_expr(const ScoreIndex &at) {
    const Expr value = Expr(0.25) * Halide::cast<double>(at.key) - Expr(0.5) * Halide::cast<double>(at.row);
    return Halide::select(
        at.key == 5, Halide::Internal::make_const(Halide::Float(64), -std::numeric_limits<double>::infinity()), value);
}

// What a term reads, no two rows alike.
template <typename Build>
MemoryTile read_by(const Build &build) {
    Var row("row"), key("key");
    Func f("read");
    f(row, key) = build(ScoreIndex{row, key});
    return {f, Halide::Internal::const_false()};
}

Expr mask_expr(const ScoreIndex &at) { return Halide::cast<std::uint8_t>((at.key + at.row) % 3); }

double score_at(int key, int row) { return 1.5 * key - 2.0 * row - 3; }

// An expression of (score, index) on the grid of keys and rows.
template <typename Build>
Halide::Buffer<double> on_grid(double shift, const Build &build) {
    Var key("key"), row("row");
    Func f("f");
    const Expr score = Expr(1.5) * Halide::cast<double>(key) - Expr(2.0) * Halide::cast<double>(row) + Expr(shift - 3);
    f(key, row) = Halide::cast<double>(build(score, ScoreIndex{row, key}));
    return f.realize({kKeys, kRows});
}

Halide::Buffer<double> values_of(const ScoreTerms &terms, double shift = 0) {
    return on_grid(shift, [&](const Expr &score, const ScoreIndex &at) { return apply_terms(terms, score, at); });
}

Halide::Buffer<double> unmasked_of(const ScoreTerms &terms) {
    return on_grid(0, [&](const Expr &, const ScoreIndex &at) { return is_unmasked(terms, at); });
}

void expect_derivative(const ScoreTerms &terms) {
    const double h = 1e-5;
    const auto slope =
        on_grid(0, [&](const Expr &score, const ScoreIndex &at) { return derivative_of_terms(terms, score, at); });
    const auto above = values_of(terms, h), below = values_of(terms, -h);
    for (int row = 0; row < kRows; row++)
        for (int key = 0; key < kKeys; key++)
            if (std::isfinite(above(key, row))) {
                EXPECT_NEAR(slope(key, row), (above(key, row) - below(key, row)) / (2 * h), 1e-7) << key << ", " << row;
            }
}

template <typename Expected>
void expect_grid(const Halide::Buffer<double> &got, const Expected &expected) {
    for (int row = 0; row < kRows; row++) {
        for (int key = 0; key < kKeys; key++) {
            const double value = expected(key, row);
            if (std::isfinite(value)) {
                EXPECT_NEAR(got(key, row), value, 1e-12 * std::max(1.0, std::fabs(value))) << key << ", " << row;
            } else {
                EXPECT_EQ(got(key, row), value) << key << ", " << row;
            }
        }
    }
}

}  // namespace

TEST(ScoreTerms, Softcap) {
    for (double cap : {0.5, 3.0, 50.0}) {
        const ScoreTerms terms = {softcap_term(Expr(cap))};
        expect_grid(values_of(terms), [=](int key, int row) { return cap * std::tanh(score_at(key, row) / cap); });
        expect_derivative(terms);
    }
    expect_grid(values_of({softcap_term(Expr(0.0))}), score_at);
    expect_derivative({softcap_term(Expr(0.0))});
}

TEST(ScoreTerms, Alibi) {
    const ScoreTerms terms = {alibi_term(Expr(0.25), Expr(2))};
    expect_grid(values_of(terms),
                [](int key, int row) { return score_at(key, row) - 0.25 * std::abs(key - (row + 2)); });
    expect_derivative(terms);
}

TEST(ScoreTerms, Bias) {
    const ScoreTerms terms = {bias_term(read_by(bias_expr))};
    expect_grid(values_of(terms), [](int key, int row) { return score_at(key, row) + bias_at(key, row); });
    expect_grid(unmasked_of(terms), [](int key, int) { return key == 5 ? 0 : 1; });
    expect_derivative(terms);
    EXPECT_TRUE(any_masks_by_memory(terms));
}

TEST(ScoreTerms, Mask) {
    const ScoreTerms terms = {mask_term(read_by(mask_expr))};
    expect_grid(values_of(terms), score_at);
    expect_grid(unmasked_of(terms), [](int key, int row) { return (key + row) % 3 == 0 ? 0 : 1; });
    EXPECT_TRUE(any_masks_by_memory(terms));
}

TEST(ScoreTerms, Position) {
    const ScoreTerms terms = {position_term(Expr(-1), Expr(2), Expr(6))};
    expect_grid(unmasked_of(terms),
                [](int key, int row) { return key >= row - 1 && key <= row + 2 && key < 6 ? 1 : 0; });
    EXPECT_FALSE(any_masks_by_memory(terms));
}

TEST(ScoreTerms, ListsComposeInOrder) {
    const ScoreTerms terms = {softcap_term(Expr(4.0)), alibi_term(Expr(0.5), Expr(-1)), bias_term(read_by(bias_expr)),
                              mask_term(read_by(mask_expr)), position_term(Expr(-2), Expr(3), Expr(7))};
    expect_grid(values_of(terms), [](int key, int row) {
        return 4 * std::tanh(score_at(key, row) / 4) - 0.5 * std::abs(key - (row - 1)) + bias_at(key, row);
    });
    expect_grid(unmasked_of(terms), [](int key, int row) {
        return key != 5 && (key + row) % 3 != 0 && key >= row - 2 && key <= row + 3 && key < 7 ? 1 : 0;
    });
    expect_derivative(terms);
    // The derivative is taken where each term stands: after a bias, the soft cap has another argument.
    const auto finite = [](const ScoreIndex &at) { return Halide::cast<double>(at.key) * Expr(0.5); };
    expect_derivative({bias_term(read_by(finite)), softcap_term(Expr(2.0)), softcap_term(Expr(1.0))});
}

// What every term of the list takes.
TermArguments arguments_of_list() {
    TermArguments arguments;
    arguments.numbers = {{"softcap", Expr(4.0)}, {"alibi_slopes", Expr(0.5)}};
    const auto bias = [](const Expr &row, const Expr &key) { return bias_expr({row, key}); };
    const auto mask = [](const Expr &row, const Expr &key) { return mask_expr({row, key}); };
    arguments.matrices = {{"bias", {bias, 1}}, {"mask", {mask, 1}}};
    arguments.diagonal_offset = -1;
    arguments.code_path = "test";
    return arguments;
}

TEST(ScoreTerms, NamedTermsComeInTheOrderOfTheList) {
    const TermArguments arguments = arguments_of_list();
    EXPECT_TRUE(named_terms("", arguments).empty());
    const auto expected = [](int key, int row) {
        return 4 * std::tanh(score_at(key, row) / 4) - 0.5 * std::abs(key - (row - 1)) + bias_at(key, row);
    };
    for (const char *names : {"softcap+alibi+bias+mask", "mask+bias+alibi+softcap"}) {
        const ScoreTerms terms = named_terms(names, arguments);
        ASSERT_EQ(terms.size(), 4U);
        expect_grid(values_of(terms), expected);
        expect_grid(unmasked_of(terms), [](int key, int row) { return key != 5 && (key + row) % 3 != 0 ? 1 : 0; });
    }
}

TEST(ScoreTerms, UnknownNamesAreRefused) {
    EXPECT_THROW(named_terms("softcap+alibii", arguments_of_list()), Halide::CompileError);
}

TEST(ScoreTerms, EmptyListChangesNothing) {
    expect_grid(values_of({}), score_at);
    expect_grid(unmasked_of({}), [](int, int) { return 1; });
    expect_derivative({});
}

}  // namespace flashwright::test
