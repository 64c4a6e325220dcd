// The inputs of a generator that its score terms take, declared from the list of terms.
#pragma once

#include "algorithm/score_terms.h"
#include "algorithm/storage.h"

#include <Halide.h>

#include <array>
#include <functional>
#include <utility>

namespace flashwright {

// The inputs of `kinds` of all terms, in the order of the list: a member of a generator, at the place of its other
// inputs. Every kernel has all of them, whatever its terms, so that all kernels have one signature.
template <typename Input, InputKind... kinds>
class TermInputs {
    static constexpr bool is_ours(const TermInput &input) {
        return input.name != nullptr && ((input.kind == kinds) || ...);
    }

    static constexpr std::size_t count() {
        std::size_t number = 0;
        for (const TermDefinition &term : kTermDefinitions)
            for (const TermInput &input : term.inputs) number += is_ours(input) ? 1 : 0;
        return number;
    }

    static constexpr TermInput nth(std::size_t n) {
        for (const TermDefinition &term : kTermDefinitions)
            for (const TermInput &input : term.inputs)
                if (is_ours(input) && n-- == 0) return input;
        return {};
    }

    template <std::size_t... n>
    explicit TermInputs(std::index_sequence<n...>) : declared{{nth(n)...}}, inputs{{Input(nth(n).name)...}} {}

 public:
    TermInputs() : TermInputs(std::make_index_sequence<count()>()) {}

    std::array<TermInput, count()> declared;
    std::array<Input, count()> inputs;
};

// One head's numbers and matrices. Matrices are [key, row].
using TermNumbers = TermInputs<Halide::GeneratorInput<double>, InputKind::scalar, InputKind::per_head>;
using TermMatrices =
    TermInputs<Halide::GeneratorInput<Halide::Buffer<void, 2>>, InputKind::matrix, InputKind::byte_matrix>;

void set_types(TermMatrices &matrices, const NumberTypes &types);

// `row_of` gives the row of a matrix for a row of the tile.
TermArguments term_arguments(const TermNumbers &numbers, const TermMatrices &matrices, const NumberTypes &types,
                             const Halide::Expr &diagonal_offset, const std::string &code_path,
                             const std::function<Halide::Expr(const Halide::Expr &row)> &row_of);

}  // namespace flashwright
