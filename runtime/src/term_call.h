// How a kernel is called with the inputs of its score terms.
#pragma once

#include <array>
#include <utility>

#include "kernels/score_term.h"
#include "tile_buffer.h"

namespace flashwright {

using TermMatrixBuffers = std::array<TileBuffer, kTermMatrices.size()>;
using TermNumberValues = std::array<double, kTermNumbers.size()>;

// Calls `kernel` with the matrices, the scale and the numbers as arguments, which have this order in every kernel.
template <typename Kernel, std::size_t... m, std::size_t... n>
void call_with_terms(const Kernel &kernel, TermMatrixBuffers &matrices, double softmax_scale,
                     const TermNumberValues &numbers, std::index_sequence<m...>, std::index_sequence<n...>) {
    kernel(matrices[m].get()..., softmax_scale, numbers[n]...);
}

template <typename Kernel>
void call_with_terms(const Kernel &kernel, TermMatrixBuffers &matrices, double softmax_scale,
                     const TermNumberValues &numbers) {
    call_with_terms(kernel, matrices, softmax_scale, numbers, std::make_index_sequence<kTermMatrices.size()>(),
                    std::make_index_sequence<kTermNumbers.size()>());
}

}  // namespace flashwright
