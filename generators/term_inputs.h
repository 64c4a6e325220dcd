// The inputs of a generator that its score terms take, declared from the list of terms.
#pragma once

#include "algorithm/score_terms.h"
#include "algorithm/storage.h"

#include <Halide.h>

#include <array>
#include <functional>
#include <utility>

namespace flashwright {

// The inputs of all terms, in the order of the list: a member of a generator, at the place of its other inputs. Every
// kernel has all of them, whatever its terms, so that all kernels have one signature.
template <typename Input, std::size_t count>
class TermInputs {
    template <std::size_t... n>
    TermInputs(const std::array<ListedInput, count> &list, std::index_sequence<n...>)
        : inputs{{Input(list[n].input.name)...}} {}

 public:
    explicit TermInputs(const std::array<ListedInput, count> &list)
        : TermInputs(list, std::make_index_sequence<count>()) {}

    std::array<Input, count> inputs;
};

// One head's numbers.
struct TermNumbers : TermInputs<Halide::GeneratorInput<double>, kTermNumbers.size()> {
    TermNumbers() : TermInputs(kTermNumbers) {}
};
// One head's matrices, [key, row].
struct TermMatrices : TermInputs<Halide::GeneratorInput<Halide::Buffer<void, 2>>, kTermMatrices.size()> {
    TermMatrices() : TermInputs(kTermMatrices) {}
};

void set_types(TermMatrices &matrices, const NumberTypes &types);

// `row_of` gives the row of a matrix for a row of the tile.
TermArguments term_arguments(const TermNumbers &numbers, const TermMatrices &matrices, const NumberTypes &types,
                             const Halide::Expr &diagonal_offset, const std::string &code_path,
                             const std::function<Halide::Expr(const Halide::Expr &row)> &row_of);

}  // namespace flashwright
