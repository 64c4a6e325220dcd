// What a call gives for the inputs of the score terms (kernels/score_term.h).
#pragma once

#include <array>

#include "kernels/score_term.h"
#include "tensor_view.h"

namespace flashwright {

struct TermOperands {
    struct Number {
        double scalar = 0;
        StridedTensor per_head;
    };

    std::array<Number, kTermNumbers.size()> numbers;           // one for each of kTermNumbers
    std::array<StridedTensor, kTermMatrices.size()> matrices;  // one for each of kTermMatrices

    // The terms that the call has, as bits.
    unsigned terms() const;
    bool any_per_head() const;
    // The numbers for one head as kernels take them.
    std::array<double, kTermNumbers.size()> numbers_of(std::int64_t head) const;
};

// Where a term's input is in its list, which has it.
template <typename List>
constexpr std::size_t place_of_input(const List &list, std::string_view name) {
    std::size_t place = 0;
    while (name != list[place].input.name) ++place;
    return place;
}

}  // namespace flashwright
