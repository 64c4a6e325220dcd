// Score terms that a kernel may hold besides scale and position: one row each, in the order of kernel names. The row
// says where a call gives the term's inputs. What a term does: algorithm/score_terms.h.
#pragma once

#include "flashwright/flashwright.h"

#include <array>
#include <string_view>

namespace flashwright {

enum Terms : unsigned { kSoftcap = 1, kAlibi = 2, kBias = 4, kMask = 8 };

enum class InputKind {
    scalar,      // a number of the call: 0 for none, else positive. Kernels take a double.
    per_head,    // a tensor [heads] of the accumulation type. Kernels take the head's number as a double.
    matrix,      // a tensor [batch|1, heads|1, seqlen_q|1, seqlen_k] of the storage type; 0 changes nothing.
                 // Kernels take the head's matrix, [key, row].
    byte_matrix  // the same in bytes; 1 changes nothing
};

struct TermInput {
    const char *name = nullptr;  // of the argument, in messages and in generators
    InputKind kind = InputKind::scalar;
    // Its member among the options of a call: `number` of a scalar, `tensor` of the other kinds.
    double flashwright_score_options::*number = nullptr;
    const flashwright_tensor *flashwright_score_options::*tensor = nullptr;

    constexpr bool is_matrix() const { return kind == InputKind::matrix || kind == InputKind::byte_matrix; }
};

struct ScoreTermRow {
    Terms bit;
    const char *name;
    std::array<TermInput, 2> inputs;  // an unused one has no name
    bool masks_by_memory;             // which keys it masks is in memory: no key is known to be unmasked
    bool uses_position;               // it depends on the distance between a row and a key
};

inline constexpr ScoreTermRow kScoreTerms[] = {
    {kSoftcap, "softcap", {{{"softcap", InputKind::scalar, &flashwright_score_options::softcap}}}, false, false},
    {kAlibi,
     "alibi",
     {{{"alibi_slopes", InputKind::per_head, nullptr, &flashwright_score_options::alibi_slopes}}},
     false,
     true},
    {kBias, "bias", {{{"bias", InputKind::matrix, nullptr, &flashwright_score_options::bias}}}, true, false},
    {kMask, "mask", {{{"mask", InputKind::byte_matrix, nullptr, &flashwright_score_options::mask}}}, true, false},
};

// Null for a name that is no term's.
constexpr const ScoreTermRow *find_score_term(std::string_view name) {
    for (const ScoreTermRow &row : kScoreTerms)
        if (name == row.name) return &row;
    return nullptr;
}

// The terms with one of the properties of a row.
constexpr unsigned terms_with(bool ScoreTermRow::*property) {
    unsigned terms = 0;
    for (const ScoreTermRow &row : kScoreTerms) terms |= row.*property ? row.bit : 0U;
    return terms;
}

constexpr unsigned all_terms() {
    unsigned terms = 0;
    for (const ScoreTermRow &row : kScoreTerms) terms |= row.bit;
    return terms;
}

// With one of these terms every key has to be tested.
constexpr unsigned kTestEveryKey = terms_with(&ScoreTermRow::masks_by_memory);

struct ListedInput {
    TermInput input;
    const ScoreTermRow *term = nullptr;
};

constexpr std::size_t count_inputs(bool matrices) {
    std::size_t count = 0;
    for (const ScoreTermRow &row : kScoreTerms)
        for (const TermInput &input : row.inputs) count += input.name != nullptr && input.is_matrix() == matrices;
    return count;
}

template <bool matrices>
constexpr std::array<ListedInput, count_inputs(matrices)> list_inputs() {
    std::array<ListedInput, count_inputs(matrices)> list = {};
    std::size_t n = 0;
    for (const ScoreTermRow &row : kScoreTerms) {
        for (const TermInput &input : row.inputs) {
            if (input.name == nullptr || input.is_matrix() != matrices) continue;
            list[n].input = input;
            list[n++].term = &row;
        }
    }
    return list;
}

// The inputs of all terms, in the order in which kernels take them: numbers, and matrices.
inline constexpr auto kTermNumbers = list_inputs<false>();
inline constexpr auto kTermMatrices = list_inputs<true>();

}  // namespace flashwright
